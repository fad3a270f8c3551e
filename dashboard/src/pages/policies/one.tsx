// One policy: its text in the editor, its limits, its versions, and the keys that use it. Saving makes a new version,
// which decides from then on.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { Refusal, remove } from '../../api.ts';
import { Confirm, FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Named } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import type { WholePolicy } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { Editing } from './editing.tsx';
import { LimitsPanel } from './limits.tsx';
import { renamed } from './renamed.ts';
import { replacePolicy } from './replace.ts';
import { usersOf } from './users.ts';
import { Versions } from './versions.tsx';

export function OnePolicy({ id }: { id: string }) {
  const { data, error, reload } = useGet<WholePolicy>(`/policies/${id}`);
  if (data === undefined) {
    const isMissing = error instanceof Refusal && error.status === 404;
    return (
      <Page title="Policy" lead={<a href="/dashboard/policies">All policies</a>}>
        {isMissing ? (
          <Empty title="There is no policy with this id" />
        ) : (
          <Problem error={error} retry={reload} />
        )}
        {error === null && <Loading />}
      </Page>
    );
  }
  return <Loaded policy={data} reload={reload} />;
}

function Loaded({ policy, reload }: { policy: WholePolicy; reload: () => void }) {
  const admin = mayAdminister.value;
  const { id, version } = policy;
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
      <Editing policy={policy} reload={reload} />
      {Object.keys(policy.limits).length > 0 && <LimitsPanel policy={policy} />}
      <div class="halves">
        <Versions policy={policy} replace={text => replacePolicy({ id, version, text }).then(reload)} />
        <Users policyId={policy.id} />
      </div>
    </Page>
  );
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
  const { id, version } = policy;
  const [open, setOpen] = useState(false);
  const { route } = useLocation();
  const rename = async (form: FormData) => {
    const about = { name: String(form.get('name')), description: String(form.get('description')) };
    await replacePolicy({ id, version, about, text: renamed(policy.text, about) });
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
