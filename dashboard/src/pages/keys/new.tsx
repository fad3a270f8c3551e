// The forms for a new key and for changing one. The caller shows the new key once.

import { useState } from 'preact/hooks';
import { visible } from '../../../../src/core/text/visible.ts';
import { announce } from '../../announce.ts';
import { patch, post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import type { Key, KeyWithSecret, Policy } from '../../resources.ts';
import { FOLDER_HINT } from '../policies/pack-folder.ts';
import { ForClients, forClientsIn } from './for-clients.tsx';
import { NotifyFields, notifyIn } from './notify.tsx';
import { ServerChoice, serversIn } from './server-choice.tsx';

const FORWARDS: Key['forward'] = ['resources', 'prompts', 'completion'];

interface NewKeyProps {
  open: boolean;
  policies: readonly Policy[];
  onClose: () => void;
  onMade: (key: KeyWithSecret) => void;
}

export function NewKey({ open, policies, onClose, onMade }: NewKeyProps) {
  const make = async (form: FormData) => {
    const wanted = keyIn(form);
    const folder = form.get('folder');
    const policyId = folder === null ? wanted.policyId : await codingPolicy(String(folder).trim(), policies);
    onMade(await post<KeyWithSecret>('/keys', { ...wanted, ...serversIn(form), policyId }));
  };
  return (
    <FormDialog title="New key" open={open} onClose={onClose} action="Create the key" submit={make}>
      <Fields policies={policies} />
    </FormDialog>
  );
}

/** What reads and writes texts of policies is large, and is loaded when it is needed. */
async function codingPolicy(folder: string, others: readonly Policy[]): Promise<string> {
  const { makeCodingPolicy } = await import('./coding-policy.ts');
  return (await makeCodingPolicy(folder, others)).id;
}

interface ChangeKeyProps {
  of: Key;
  open: boolean;
  policies: readonly Policy[];
  onClose: () => void;
  onChanged: () => void;
}

export function ChangeKey({ of: current, open, policies, onClose, onChanged }: ChangeKeyProps) {
  const change = async (form: FormData) => {
    const wanted = keyIn(form);
    await patch(`/keys/${current.id}`, wanted);
    announce(`Saved: ${wanted.name}`);
    onChanged();
  };
  return (
    <FormDialog title="Change the key" open={open} onClose={onClose} action="Save" submit={change}>
      <Fields policies={policies} current={current} />
    </FormDialog>
  );
}

function keyIn(form: FormData) {
  const until = String(form.get('expiresAt') ?? '');
  return {
    name: String(form.get('name')),
    policyId: String(form.get('policyId')),
    requireSignInToApprove: form.has('requireSignInToApprove'),
    expiresAt: until === '' ? null : new Date(until).toISOString(),
    forward: form.getAll('forward').map(String),
    ...forClientsIn(form),
    ...notifyIn(form),
  };
}

const CODING = 'coding';
const CODING_HINT =
  'Claude Code, Codex and other coding agents need the first: with another policy they may wait at every file that they read.';

function Fields({ policies, current }: { policies: readonly Policy[]; current?: Key }) {
  const [chosen, setChosen] = useState<string | null>(null);
  // Without another policy, the browser chooses the first that is offered.
  const forCoding = chosen === CODING || (chosen === null && current === undefined && policies.length === 0);
  return (
    <>
      <Field label="Name" hint="Approvers see it: say which agent it is for.">
        {ties => <input {...ties} name="name" required maxLength={200} defaultValue={current?.name} />}
      </Field>
      <Field label="Policy" {...(current === undefined && { hint: CODING_HINT })}>
        {ties => (
          <select {...ties} name="policyId" required onChange={event => setChosen(event.currentTarget.value)}>
            {current === undefined && (
              <option value={CODING} selected={forCoding}>
                A new one for a coding agent (pack “coding”)
              </option>
            )}
            {policies.map(({ id, name }) => (
              <option
                key={id}
                value={id}
                selected={!forCoding && id === (chosen ?? current?.policyId ?? policies[0]?.id)}
              >
                {visible(name)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {forCoding && (
        <Field label="Folder of the project" hint={FOLDER_HINT}>
          {ties => <input {...ties} name="folder" required placeholder="/home/ann/project" />}
        </Field>
      )}
      <Field label="Expires" hint="In your time zone. Without a date, it does not expire.">
        {ties => (
          <input
            {...ties}
            type="datetime-local"
            name="expiresAt"
            defaultValue={current?.expiresAt ? local(current.expiresAt) : ''}
          />
        )}
      </Field>
      <label class="check">
        <input
          type="checkbox"
          name="requireSignInToApprove"
          defaultChecked={current?.requireSignInToApprove ?? false}
        />
        Approvals need a signed-in operator
      </label>
      <NotifyFields {...(current === undefined ? {} : { current })} />
      <fieldset class="choices">
        <legend>Besides tools, its MCP proxy forwards</legend>
        {FORWARDS.map(each => (
          <label key={each} class="check">
            <input
              type="checkbox"
              name="forward"
              value={each}
              defaultChecked={current?.forward.includes(each) ?? false}
            />
            {each}
          </label>
        ))}
      </fieldset>
      <ForClients {...(current === undefined ? {} : { current })} />
      {current === undefined && <ServerChoice />}
    </>
  );
}

/** A time as the control expects it: without a zone, in that of the browser. */
function local(iso: string): string {
  const moment = new Date(iso);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
