// A new policy: a name, a description, and a text to begin with. The text may contain the name and the description.

import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Problem } from '../../components/states.tsx';
import { useAction } from '../../load.ts';
import type { WholePolicy } from '../../resources.ts';
import { mayAdminister, me } from '../../session.ts';
import { Discarded, Unsaved } from './conflict.tsx';
import { contentOf, draftOf } from './draft.ts';
import { type KeptDraft, KeptDrafts } from './kept-drafts.ts';
import { PackChoice } from './pack-choice.tsx';
import { Rules, type ShownText } from './rules.tsx';
import { useWarning } from './warning.ts';

const TEXT = `# The first rule that matches a tool, and whose conditions hold, decides. What no rule matches is denied.
rules:
  - { tool: "get_*", action: allow }
  - { tool: "list_*", action: allow }
  - { tool: "delete_*", action: deny, reason: "Deleting is for people." }
  # A condition reads the arguments of the call:
  # - { tool: stripe__refund, action: allow, when: 'args.amount > 0 && args.amount <= 50' }
  # People see the arguments of a call before they approve it:
  - { tool: "*", action: require_approval, show: all }
`;

const NAME_HINT = 'Unique; it appears in the reasons of verdicts.';
const IN_TEXT = 'The text below says it; change it there.';

export function NewPolicy() {
  const drafts = new KeptDrafts(me.value.actor, 'new', sessionStorage);
  const [kept, setKept] = useState(() => drafts.read('edited'));
  const [discarded, setDiscarded] = useState(() => drafts.read('discarded'));
  const [name, setName] = useState(kept?.name ?? '');
  const [description, setDescription] = useState(kept?.description ?? '');
  const [shown, setShown] = useState<ShownText>({ text: kept?.text ?? TEXT, added: null });
  const [draft, setDraft] = useState(() => draftOf(shown.text));
  // What is typed after the last pause is saved too.
  const typed = useRef(shown.text);
  const changed = draft.text !== TEXT || name !== '' || description !== '';
  useWarning(changed);
  const keep = (part: Partial<KeptDraft>) => {
    const written = { version: 0, text: typed.current, name, description, ...part };
    const isEmpty = written.text === TEXT && written.name === '' && written.description === '';
    drafts.keep('edited', isEmpty ? null : written);
  };
  const put = (next: KeptDraft | null) => {
    drafts.keep('edited', next);
    setName(next?.name ?? '');
    setDescription(next?.description ?? '');
    typed.current = next?.text ?? TEXT;
    setShown({ text: typed.current, added: null });
  };
  const discard = () => {
    const left = { version: 0, text: typed.current, name, description };
    drafts.keep('discarded', left);
    setDiscarded(left);
    setKept(null);
    put(null);
  };
  const bringBack = () => {
    put(discarded);
    drafts.keep('discarded', null);
    setDiscarded(null);
  };
  const { busy, error, run } = useAction();
  const { route } = useLocation();
  const named = draft.policy?.name ?? null;
  const described = draft.policy?.description ?? null;
  const create = (event: SubmitEvent) => {
    event.preventDefault();
    return run(async () => {
      const about = { ...(named === null && { name }), ...(described === null && { description }) };
      const made = await post<WholePolicy>('/policies', { ...about, ...contentOf(typed.current) });
      drafts.keep('edited', null);
      announce(`Created: ${made.name}`);
      route(`/dashboard/policies/${made.id}`);
    });
  };
  return (
    <Page title="New policy" lead={<a href="/dashboard/policies">All policies</a>}>
      {kept !== null && <Unsaved discard={discard}>Your unsaved draft was restored.</Unsaved>}
      {discarded !== null && !changed && <Discarded bringBack={bringBack} />}
      <form class="stack" onSubmit={create}>
        <Panel title="About it">
          <div class="stack">
            <PackChoice onChosen={text => setShown({ text, added: null })} />
            <Field label="Name" hint={named === null ? NAME_HINT : IN_TEXT}>
              {ties => (
                <input
                  {...ties}
                  required
                  readOnly={named !== null}
                  value={named ?? name}
                  onInput={({ currentTarget: { value } }) => {
                    setName(value);
                    keep({ name: value });
                  }}
                />
              )}
            </Field>
            <Field label="Description" hint={described === null ? 'For people; may be empty.' : IN_TEXT}>
              {ties => (
                <input
                  {...ties}
                  readOnly={described !== null}
                  value={described ?? description}
                  onInput={({ currentTarget: { value } }) => {
                    setDescription(value);
                    keep({ description: value });
                  }}
                />
              )}
            </Field>
          </div>
        </Panel>
        <Panel title="Rules">
          <Rules
            shown={shown}
            draft={draft}
            name={name}
            readOnly={false}
            onText={text => {
              typed.current = text;
              keep({ text });
            }}
            onDraft={setDraft}
          />
        </Panel>
        <Problem error={error} />
        <div class="actions">
          <button type="submit" disabled={busy || draft.policy === null || !mayAdminister.value}>
            Create the policy
          </button>
        </div>
      </form>
    </Page>
  );
}
