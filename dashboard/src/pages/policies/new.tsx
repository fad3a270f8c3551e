// A new policy: a name, a description, and rules to begin with.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Problem } from '../../components/states.tsx';
import { useAction } from '../../load.ts';
import type { Rule, WholePolicy } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { draftOf, textOf } from './draft.ts';
import { Rules } from './rules.tsx';

const BEGINNING: Rule[] = [
  { tool: 'get_*', action: 'allow' },
  { tool: 'list_*', action: 'allow' },
  { tool: 'delete_*', action: 'deny', reason: 'Deleting is for people.' },
  { tool: '*', action: 'require_approval' },
];
const TEXT = textOf(BEGINNING);

export function NewPolicy() {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [draft, setDraft] = useState(() => draftOf(TEXT));
  const { busy, error, run } = useAction();
  const { route } = useLocation();
  const create = (event: SubmitEvent) => {
    event.preventDefault();
    return run(async () => {
      const { id } = await post<WholePolicy>('/policies', { name, description, rules: draft.rules });
      announce(`Created: ${name}`);
      route(`/dashboard/policies/${id}`);
    });
  };
  return (
    <Page title="New policy" lead={<a href="/dashboard/policies">All policies</a>}>
      <form class="stack" onSubmit={create}>
        <Panel title="About it">
          <div class="stack">
            <Field label="Name" hint="Unique; it appears in the reasons of verdicts.">
              {ties => (
                <input
                  {...ties}
                  required
                  value={name}
                  onInput={event => setName(event.currentTarget.value)}
                />
              )}
            </Field>
            <Field label="Description" hint="For people; may be empty.">
              {ties => (
                <input
                  {...ties}
                  value={description}
                  onInput={event => setDescription(event.currentTarget.value)}
                />
              )}
            </Field>
          </div>
        </Panel>
        <Panel title="Rules">
          <Rules text={TEXT} name={name} readOnly={false} onDraft={setDraft} />
        </Panel>
        <Problem error={error} />
        <div class="actions">
          <button type="submit" disabled={busy || draft.rules === null || !mayAdminister.value}>
            Create the policy
          </button>
        </div>
      </form>
    </Page>
  );
}
