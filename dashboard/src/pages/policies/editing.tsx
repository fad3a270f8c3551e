// The editor of a policy with what belongs to an unsaved text: where it came from, a choice if somebody else saved
// meanwhile, what it would change, and saving.

import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { diffLines } from '../../../../src/core/text/diff.ts';
import { announce } from '../../announce.ts';
import { get, Refusal } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Difference } from '../../components/difference.tsx';
import { Panel } from '../../components/page.tsx';
import type { Span } from '../../components/span-choice.tsx';
import { Problem } from '../../components/states.tsx';
import { Ago, Named } from '../../components/text.tsx';
import { keyName } from '../../names.ts';
import type { WholePolicy } from '../../resources.ts';
import { mayAdminister, me } from '../../session.ts';
import { Aside, Conflict, Discarded, Unsaved as UnsavedNotice } from './conflict.tsx';
import { contentOf, linesOf } from './draft.ts';
import { KeptDrafts } from './kept-drafts.ts';
import { replacePolicy } from './replace.ts';
import { ReplayOf } from './replay.tsx';
import { Rules } from './rules.tsx';
import { useAsked } from './use-asked.ts';
import { useReplays } from './use-replay.ts';
import { type Origin, type Unsaved, useUnsaved } from './use-unsaved.ts';
import { useWarning } from './warning.ts';

interface EditingProps {
  policy: WholePolicy;
  reload: () => void;
}

export function Editing({ policy, reload }: EditingProps) {
  const editable = mayAdminister.value;
  const drafts = editable ? new KeptDrafts(me.value.actor, policy.id, sessionStorage) : null;
  const unsaved = useUnsaved(policy, drafts);
  const { draft, began } = unsaved;
  const changed = draft.text !== policy.text;
  const isConflict = changed && began !== policy.version;
  useWarning(changed);
  const [span, setSpan] = useState<Span>('7 days');
  const asked = useMemo(
    () => (changed && draft.policy !== null ? contentOf(draft.text) : null),
    [changed, draft],
  );
  useAsked(policy, unsaved, setSpan);
  const replays = useReplays(policy, asked, span);
  const [isSaving, setSaving] = useState(false);
  const replay = asked !== null && <ReplayOf replays={replays} span={span} setSpan={setSpan} />;
  return (
    <Panel
      title="Rules"
      aside={
        <span class="soft">
          Version {policy.version}, <Ago at={policy.updatedAt} />
        </span>
      }
    >
      <div class="stack">
        <Notices unsaved={unsaved} changed={changed} />
        {isConflict && (
          <Conflict
            policy={policy}
            began={began}
            text={draft.text}
            keepMine={unsaved.goOn}
            takeTheirs={() => unsaved.leave('aside')}
          />
        )}
        <Rules
          shown={unsaved.shown}
          draft={draft}
          name={policy.name}
          readOnly={!editable}
          onText={unsaved.type}
          onDraft={unsaved.setDraft}
        >
          {editable && (
            <div class="actions">
              <button
                type="button"
                disabled={!changed || isConflict || draft.policy === null}
                onClick={() => setSaving(true)}
              >
                Save as version {policy.version + 1}
              </button>
              {changed && unsaved.origin === null && (
                <button type="button" class="plain" onClick={() => unsaved.leave('discarded')}>
                  Discard the draft
                </button>
              )}
              {changed && <span class="soft aligned">Not saved yet.</span>}
            </div>
          )}
          <SaveDialog
            policy={policy}
            unsaved={unsaved}
            open={isSaving}
            close={() => setSaving(false)}
            reload={reload}
          >
            {isSaving && replay}
          </SaveDialog>
          {!isSaving && replay}
        </Rules>
      </div>
    </Panel>
  );
}

/** Where the unsaved text came from, and what was set aside for it. */
function Notices({ unsaved, changed }: { unsaved: Unsaved; changed: boolean }) {
  const { origin, aside, discarded } = unsaved;
  return (
    <>
      {origin !== null && (
        <Came origin={origin} discard={changed ? () => unsaved.leave('discarded') : undefined} />
      )}
      {aside !== null && (
        <Aside draft={aside} bringBack={() => unsaved.bringBack('aside')} discard={unsaved.discardAside} />
      )}
      {discarded !== null && !changed && <Discarded bringBack={() => unsaved.bringBack('discarded')} />}
    </>
  );
}

function Came({ origin, discard }: { origin: Origin; discard: (() => void) | undefined }) {
  switch (origin.kind) {
    case 'failed':
      return <Problem error={origin.error} />;
    case 'restored':
      return <UnsavedNotice discard={discard}>Your unsaved draft was restored.</UnsavedNotice>;
    case 'rule':
      return (
        <UnsavedNotice discard={discard}>
          <Named text={origin.said} /> {origin.isNew && 'Nothing is saved yet.'}
        </UnsavedNotice>
      );
    case 'suggesting':
      return (
        <p class="soft" role="status">
          Making a text from the calls of the key <Named text={keyName(origin.keyId)} />…
        </p>
      );
    case 'suggested':
      return (
        <UnsavedNotice discard={discard}>
          This text was made from what the key “
          <Named text={keyName(origin.keyId)} />” called in the last {origin.span}. Nothing is saved yet.
        </UnsavedNotice>
      );
  }
}

interface SaveDialogProps extends EditingProps {
  unsaved: Unsaved;
  open: boolean;
  close: () => void;
  children: ComponentChildren;
}

/** The last look at what a new version changes. */
function SaveDialog({ policy, unsaved, open, close, reload, children }: SaveDialogProps) {
  const next = policy.version + 1;
  const save = async () => {
    try {
      await replacePolicy({ id: policy.id, version: unsaved.began, text: unsaved.typed() });
      unsaved.saved(next);
      announce(`Saved as version ${next}. It decides from now on.`);
    } catch (error) {
      // If somebody else saved a version meanwhile, the page shows both texts.
      if (!(error instanceof Refusal) || error.status !== 409) throw error;
      const { version } = await get<WholePolicy>(`/policies/${policy.id}`);
      if (version === policy.version) throw error;
    }
    reload();
  };
  return (
    <FormDialog
      title={`Save as version ${next}?`}
      open={open}
      onClose={close}
      action="Save"
      submit={save}
      wide
    >
      <div class="stack">
        <p>It decides from that moment on.</p>
        {children}
        <details class="save-difference">
          <summary>Show the difference from version {policy.version}</summary>
          <Difference lines={diffLines(linesOf(policy.text), linesOf(unsaved.draft.text))} />
        </details>
      </div>
    </FormDialog>
  );
}
