// The text that is being edited and is not saved yet: what the editor shows, which version it began from, where it came
// from, and what was set aside for it. It is kept in the tab, so that it survives a visit to another page.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { WholePolicy } from '../../resources.ts';
import type { AddedLines } from './added-lines.ts';
import { type Draft, draftOf } from './draft.ts';
import type { KeptDraft, KeptDrafts, Place } from './kept-drafts.ts';
import type { ShownText } from './rules.tsx';

/** Where an unsaved text came from, if the person did not type it on this visit, or why it could not be made. */
export type Origin =
  | { kind: 'restored' }
  | { kind: 'rule'; said: string; isNew: boolean }
  | { kind: 'suggesting'; keyId: string }
  | { kind: 'suggested'; keyId: string; span: string }
  | { kind: 'failed'; error: Error };

interface Edited {
  shown: ShownText;
  /** The version that the text began from. */
  began: number;
  origin: Origin | null;
  aside: KeptDraft | null;
  /** What was discarded last. */
  discarded: KeptDraft | null;
}

export interface Unsaved extends Edited {
  draft: Draft;
  setDraft: (draft: Draft) => void;
  /** What is in the editor right now, also what was typed after the last pause. */
  typed: () => string;
  type: (text: string) => void;
  /** Shows another text, which is not saved either. */
  show: (text: string, more: { origin: Origin | null; added?: AddedLines | null }) => void;
  /** Shows a text that was made from the current version, and sets aside what somebody has changed. */
  replaceWith: (text: string, origin: Origin) => void;
  /** Says something about the text without changing it. */
  say: (origin: Origin) => void;
  /** Shows the saved text again; the unsaved one is kept in that place. */
  leave: (place: Left) => void;
  /** Shows the draft that is kept there. What was being edited takes its place. */
  bringBack: (place: Left) => void;
  discardAside: () => void;
  /** The text goes on from the current version, which saving then replaces. */
  goOn: () => void;
  /** Called before the policy is loaded again: the text was just saved as this version. */
  saved: (version: number) => void;
}

/** Where a draft is that is not being edited. */
type Left = Exclude<Place, 'edited'>;

/** `drafts` is null for people who may not edit. */
export function useUnsaved(policy: WholePolicy, drafts: KeptDrafts | null): Unsaved {
  const [edited, setEdited] = useState<Edited>(() => opened(policy, drafts));
  const [draft, setDraft] = useState(() => draftOf(edited.shown.text));
  const typed = useRef(edited.shown.text);
  const last = useRef({ policy, saved: { version: policy.version, text: policy.text } });

  const keep = (text: string, began: number) =>
    drafts?.keep('edited', text === policy.text ? null : { text, version: began });
  const keepIn = (place: Left, left: KeptDraft | null) => {
    drafts?.keep(place, left);
    return { [place]: left };
  };
  const put = (text: string, began: number, more: Partial<Edited> & { added?: AddedLines | null }) => {
    const { added = null, ...rest } = more;
    typed.current = text;
    keep(text, began);
    setDraft(draftOf(text));
    setEdited(before => ({ ...before, origin: null, ...rest, began, shown: { text, added } }));
  };
  const current = (): KeptDraft => ({ text: typed.current, version: edited.began });

  const goOn = () => {
    keep(typed.current, policy.version);
    setEdited(before => ({ ...before, began: policy.version }));
  };
  useEffect(() => {
    const { policy: before, saved } = last.current;
    last.current.policy = policy;
    if (before.version === policy.version) return;
    if ([before.text, policy.text, saved.text].includes(typed.current)) put(policy.text, policy.version, {});
    else if (saved.version === policy.version) goOn();
    // Otherwise somebody else saved this version. The text stays as it is, and the page asks what to do.
  }, [policy]);

  return {
    ...edited,
    draft,
    setDraft,
    typed: () => typed.current,
    type: text => {
      typed.current = text;
      keep(text, edited.began);
    },
    show: (text, more) => put(text, edited.began, more),
    replaceWith: (text, origin) =>
      put(text, policy.version, {
        origin,
        ...(typed.current !== policy.text && keepIn('aside', current())),
      }),
    say: origin => setEdited(before => ({ ...before, origin })),
    leave: place => put(policy.text, policy.version, keepIn(place, current())),
    bringBack: place => {
      const left = edited[place];
      if (left === null) return;
      const isChanged = typed.current !== policy.text;
      put(left.text, left.version, keepIn(place, isChanged ? current() : null));
    },
    discardAside: () =>
      setEdited(before => ({ ...before, ...keepIn('discarded', before.aside), ...keepIn('aside', null) })),
    goOn,
    saved: version => {
      last.current.saved = { version, text: typed.current };
    },
  };
}

function opened(policy: WholePolicy, drafts: KeptDrafts | null): Edited {
  const left = { aside: drafts?.read('aside') ?? null, discarded: drafts?.read('discarded') ?? null };
  const kept = drafts?.read('edited') ?? null;
  if (kept === null || kept.text === policy.text)
    return { shown: { text: policy.text, added: null }, began: policy.version, origin: null, ...left };
  return {
    shown: { text: kept.text, added: null },
    began: kept.version,
    origin: { kind: 'restored' },
    ...left,
  };
}
