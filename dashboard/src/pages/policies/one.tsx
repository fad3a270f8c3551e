// One policy: its text in the editor, its limits, its versions, and the keys that use it. Saving makes a new version,
// which decides from then on.

import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { put, remove } from '../../api.ts';
import { Confirm, FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Ago, Named } from '../../components/text.tsx';
import { useAction, useGet } from '../../load.ts';
import type { Policy, WholePolicy } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { contentOf, type Draft } from './draft.ts';
import { LimitsPanel } from './limits.tsx';
import { renamed } from './renamed.ts';
import { Rules } from './rules.tsx';
import { usersOf } from './users.ts';
import { Versions } from './versions.tsx';

export function OnePolicy({ id }: { id: string }) {
  const { data, error, reload } = useGet<WholePolicy>(`/policies/${id}`);
  if (data === undefined) {
    return (
      <Page title="Policy" lead={<a href="/dashboard/policies">All policies</a>}>
        <Problem error={error} retry={reload} />
        {error === null && <Loading />}
      </Page>
    );
  }
  return <Loaded policy={data} reload={reload} />;
}

function Loaded({ policy, reload }: { policy: WholePolicy; reload: () => void }) {
  const admin = mayAdminister.value;
  return (
    <Page
      title={policy.name}
      lead={
        <>
          <a href="/dashboard/policies">All policies</a>
          {policy.description !== '' && ' · '}
          <Named text={policy.description} />
        </>
      }
      actions={admin && <Actions policy={policy} reload={reload} />}
    >
      <Editing key={policy.version} policy={policy} reload={reload} />
      {Object.keys(policy.limits).length > 0 && <LimitsPanel policy={policy} />}
      <div class="halves">
        <Versions policy={policy} replace={text => replace(policy, { text }).then(reload)} />
        <Users policyId={policy.id} />
      </div>
    </Page>
  );
}

/** Sends the version that was edited, so that a newer version of somebody else is not overwritten. */
function replace(
  policy: WholePolicy,
  { text, ...about }: Partial<Policy> & { text: string },
): Promise<unknown> {
  return put(`/policies/${policy.id}`, { ...about, ...contentOf(text), version: policy.version });
}

function Editing({ policy, reload }: { policy: WholePolicy; reload: () => void }) {
  const { text } = policy;
  const [draft, setDraft] = useState<Draft | null>(null);
  // What is typed after the last pause is saved too.
  const typed = useRef(text);
  const { busy, error, run } = useAction();
  const changed = draft !== null && draft.text !== text;
  useWarning(changed);
  const save = async () => {
    if (!(await run(() => replace(policy, { text: typed.current })))) return;
    announce(`Saved as version ${policy.version + 1}. It decides from now on.`);
    reload();
  };
  const editable = mayAdminister.value;
  return (
    <Panel
      title="Rules"
      aside={
        <span class="soft">
          Version {policy.version}, <Ago at={policy.updatedAt} />
        </span>
      }
    >
      <Rules
        text={text}
        name={policy.name}
        readOnly={!editable}
        onText={changed => {
          typed.current = changed;
        }}
        onDraft={setDraft}
      >
        <Problem error={error} />
        {editable && (
          <div class="actions">
            <button type="button" disabled={busy || !changed || draft.policy === null} onClick={save}>
              Save as version {policy.version + 1}
            </button>
            {changed && <span class="soft aligned">Not saved yet.</span>}
          </div>
        )}
      </Rules>
    </Panel>
  );
}

/** Makes the browser ask before a page with unsaved changes is left. */
function useWarning(active: boolean): void {
  useEffect(() => {
    if (!active) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [active]);
}

function Users({ policyId }: { policyId: string }) {
  const users = usersOf(policyId);
  return (
    <Panel title="Keys that use it">
      {users.length === 0 ? (
        <Empty title="No key uses it">
          <a href="/dashboard/keys">Attach a key</a> to it, and it decides that key’s calls.
        </Empty>
      ) : (
        <ul class="plain-list">
          {users.map(key => (
            <li key={key.id}>
              <a href={`/dashboard/keys/${key.id}`}>
                <Named text={key.name} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Actions({ policy, reload }: { policy: WholePolicy; reload: () => void }) {
  const [open, setOpen] = useState(false);
  const { route } = useLocation();
  const rename = async (form: FormData) => {
    const about = { name: String(form.get('name')), description: String(form.get('description')) };
    await replace(policy, { ...about, text: renamed(policy.text, about) });
    announce(`Saved: ${about.name}`);
    reload();
  };
  const destroy = async () => {
    await remove(`/policies/${policy.id}`);
    announce(`Deleted: ${policy.name}`);
    route('/dashboard/policies', true);
  };
  return (
    <>
      <button type="button" class="plain" onClick={() => setOpen(true)}>
        Rename
      </button>
      <FormDialog
        title="Rename the policy"
        open={open}
        onClose={() => setOpen(false)}
        action="Save"
        submit={rename}
      >
        <Field label="Name">
          {ties => <input {...ties} name="name" required defaultValue={policy.name} />}
        </Field>
        <Field label="Description">
          {ties => <input {...ties} name="description" defaultValue={policy.description} />}
        </Field>
        <p class="hint">The name appears in the reasons of verdicts, so this too makes a new version.</p>
      </FormDialog>
      <Confirm label="Delete" title="Delete this policy?" class="plain" run={destroy}>
        <Named text={policy.name} /> can no longer be used by keys. Its versions stay known to the audit log.
        A policy that keys use cannot be deleted.
      </Confirm>
    </>
  );
}
