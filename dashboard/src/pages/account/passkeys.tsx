// The operator's passkeys: adding one, names, removal. dashboard/src/passkeys.ts speaks to the browser.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { patch, post, remove } from '../../api.ts';
import { Confirm, FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Ago, Named, Time } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import { makePasskey, type Options, passkeyFault } from '../../passkeys.ts';
import type { Passkey, Passkeys as PasskeysShown } from '../../resources.ts';

const FOR_SIGN_IN =
  'With a passkey you sign in by the lock of your device or a security key, without a password.';
const FOR_APPROVALS =
  'You sign in with single sign-on, which decides about your role. A passkey proves your approvals where a rule wants proof.';

export function Passkeys() {
  const loaded = useGet<PasskeysShown>('/me/passkeys');
  const [adding, setAdding] = useState(false);
  const [renamed, setRenamed] = useState<Passkey | null>(null);
  const { data, reload } = loaded;
  const fault = data === undefined ? null : passkeyFault(data.origin);
  const add = async (form: FormData) => {
    const response = await makePasskey(await post<Options>('/me/passkeys/options'));
    await post('/me/passkeys', { name: form.get('name'), response });
    announce('The passkey is added.');
    reload();
  };
  const rename = async (form: FormData) => {
    await patch(`/me/passkeys/${renamed?.id}`, { name: form.get('name') });
    announce('The passkey is renamed.');
    reload();
  };
  const destroy = async ({ id }: Passkey) => {
    await remove(`/me/passkeys/${id}`);
    announce('The passkey is removed.');
    reload();
  };
  return (
    <Panel
      title="Passkeys"
      aside={
        fault === null && (
          <button type="button" class="plain small" onClick={() => setAdding(true)}>
            Add a passkey
          </button>
        )
      }
    >
      <p class="soft">{fault ?? (data?.signIn === false ? FOR_APPROVALS : FOR_SIGN_IN)}</p>
      <Shown of={{ ...loaded, data: data?.passkeys }} empty={<Empty title="You have no passkey" />}>
        <Table
          caption="Your passkeys, oldest first"
          columns={columns(setRenamed, destroy)}
          rows={data?.passkeys ?? []}
          keyOf={each => each.id}
        />
      </Shown>
      <FormDialog
        title="Add a passkey"
        open={adding}
        onClose={() => setAdding(false)}
        action="Go on"
        submit={add}
      >
        <p>Your browser then asks where to keep it. You can add one within 15 minutes after you signed in.</p>
        <Name hint="By which you tell it from others, such as the name of the device." />
      </FormDialog>
      <FormDialog
        title="Rename the passkey"
        open={renamed !== null}
        onClose={() => setRenamed(null)}
        action="Save"
        submit={rename}
      >
        <Name value={renamed?.name} />
      </FormDialog>
    </Panel>
  );
}

function Name({ value, hint }: { value?: string | undefined; hint?: string }) {
  return (
    <Field label="Name" hint={hint}>
      {ties => <input {...ties} name="name" maxLength={60} defaultValue={value} required />}
    </Field>
  );
}

function columns(
  rename: (passkey: Passkey) => void,
  destroy: (passkey: Passkey) => Promise<void>,
): Column<Passkey>[] {
  return [
    {
      head: 'Name',
      kind: 'wide',
      cell: ({ name, fingerprint }) => (
        <div>
          <Named text={name} />
          <p class="soft small">
            Fingerprint of its public key: <code>{fingerprint}</code>
          </p>
        </div>
      ),
    },
    { head: 'Added', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      head: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Ago at={lastUsedAt} />),
    },
    {
      head: 'Actions',
      kind: 'actions',
      cell: passkey => (
        <>
          <button type="button" class="plain small" onClick={() => rename(passkey)}>
            Rename
          </button>
          <Confirm label="Remove" title="Remove this passkey?" run={() => destroy(passkey)}>
            <p>
              Nobody can sign in with <Named text={passkey.name} /> any more. Sign-ins that are open go on;
              end them with “Sign out everywhere”. Remove it on your device too.
            </p>
          </Confirm>
        </>
      ),
    },
  ];
}
