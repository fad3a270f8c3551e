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
import { mayAdminister } from '../../session.ts';
import { contentOf, draftOf } from './draft.ts';
import { Rules } from './rules.tsx';

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
const IN_TEXT = 'It stands in the text below.';

export function NewPolicy() {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [draft, setDraft] = useState(() => draftOf(TEXT));
  // What is typed after the last pause is saved too.
  const typed = useRef(TEXT);
  const { busy, error, run } = useAction();
  const { route } = useLocation();
  const named = draft.policy?.name ?? null;
  const described = draft.policy?.description ?? null;
  const create = (event: SubmitEvent) => {
    event.preventDefault();
    return run(async () => {
      const about = { ...(named === null && { name }), ...(described === null && { description }) };
      const made = await post<WholePolicy>('/policies', { ...about, ...contentOf(typed.current) });
      announce(`Created: ${made.name}`);
      route(`/dashboard/policies/${made.id}`);
    });
  };
  return (
    <Page title="New policy" lead={<a href="/dashboard/policies">All policies</a>}>
      <form class="stack" onSubmit={create}>
        <Panel title="About it">
          <div class="stack">
            <Field label="Name" hint={named === null ? NAME_HINT : IN_TEXT}>
              {ties => (
                <input
                  {...ties}
                  required
                  readOnly={named !== null}
                  value={named ?? name}
                  onInput={event => setName(event.currentTarget.value)}
                />
              )}
            </Field>
            <Field label="Description" hint={described === null ? 'For people; may be empty.' : IN_TEXT}>
              {ties => (
                <input
                  {...ties}
                  readOnly={described !== null}
                  value={described ?? description}
                  onInput={event => setDescription(event.currentTarget.value)}
                />
              )}
            </Field>
          </div>
        </Panel>
        <Panel title="Rules">
          <Rules
            text={TEXT}
            name={name}
            readOnly={false}
            onText={text => {
              typed.current = text;
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
