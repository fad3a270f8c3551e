// What is said above the editor about a text that is not saved: that it was restored, that somebody else saved a newer
// version meanwhile, with both texts compared and a choice, and that a draft was set aside or discarded.

import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { diffLines } from '../../../../src/core/text/diff.ts';
import { Difference } from '../../components/difference.tsx';
import { Ago, Copy } from '../../components/text.tsx';
import type { WholePolicy } from '../../resources.ts';
import { linesOf } from './draft.ts';
import type { KeptDraft } from './kept-drafts.ts';

interface ConflictProps {
  /** The version that is current now. */
  policy: WholePolicy;
  /** The version that the text began from. */
  began: number;
  text: string;
  keepMine: () => void;
  takeTheirs: () => void;
}

/** Compares what was saved meanwhile with the unsaved text, and asks which of them goes on. */
export function Conflict({ policy, began, text, keepMine, takeTheirs }: ConflictProps) {
  const place = useRef<HTMLElement>(null);
  // The button that led here is disabled now, so the focus would be lost.
  useEffect(() => place.current?.focus(), []);
  const lines = useMemo(() => diffLines(linesOf(policy.text), linesOf(text)), [policy.text, text]);
  return (
    <section class="notice conflict" ref={place} tabIndex={-1} aria-label="Two versions">
      <p>
        <b>Version {policy.version} was saved meanwhile</b>, <Ago at={policy.updatedAt} />. Your text began
        from version {began} and is not saved. Lines with − are only in version {policy.version}, lines with +
        only in your text.
      </p>
      <div class="actions">
        <button type="button" class="plain" onClick={keepMine}>
          Keep my text
        </button>
        <button type="button" class="plain" onClick={takeTheirs}>
          Take version {policy.version}
        </button>
      </div>
      <p class="soft">
        With your text, saving replaces version {policy.version}, which stays in the list of versions. With
        version {policy.version}, your text is set aside, and you can bring it back.
      </p>
      <div class="compared">
        <Difference lines={lines} />
      </div>
    </section>
  );
}

interface AsideProps {
  draft: KeptDraft;
  bringBack: () => void;
  discard: () => void;
}

export function Aside({ draft, bringBack, discard }: AsideProps) {
  return (
    <Notice>
      <p>Your draft of version {draft.version} is set aside. It is kept until this tab is closed.</p>
      <div class="actions">
        <button type="button" class="plain small" onClick={bringBack}>
          Bring it back
        </button>
        <Copy text={draft.text} label="Copy it" wide />
        <button type="button" class="plain small" onClick={discard}>
          Discard it
        </button>
      </div>
    </Notice>
  );
}

/** The way back from a discarded draft. */
export function Discarded({ bringBack }: { bringBack: () => void }) {
  return (
    <Notice>
      <p>Your last draft was discarded. It is kept until this tab is closed.</p>
      <button type="button" class="plain small" onClick={bringBack}>
        Bring it back
      </button>
    </Notice>
  );
}

interface UnsavedProps {
  /** Where the unsaved text comes from, in sentences. */
  children: ComponentChildren;
  /** Left out when the text is the saved one. */
  discard: (() => void) | undefined;
}

/** An unsaved text that this page did not begin with. */
export function Unsaved({ children, discard }: UnsavedProps) {
  return (
    <Notice>
      <p>{children}</p>
      {discard !== undefined && (
        <button type="button" class="plain small" onClick={discard}>
          Discard the draft
        </button>
      )}
    </Notice>
  );
}

function Notice({ children }: { children: ComponentChildren }) {
  return (
    <div class="notice" role="status">
      {children}
    </div>
  );
}
