// The operator's own account: the open sign-ins, signing out everywhere, passkeys, and changing the password.

import { useRef } from 'preact/hooks';
import { announce } from '../announce.ts';
import { post, remove } from '../api.ts';
import { Confirm } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { Facts, Page, Panel } from '../components/page.tsx';
import { Empty, Problem, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Ago, Badge, Named, Time } from '../components/text.tsx';
import { useAction, useList } from '../load.ts';
import type { SignIn } from '../resources.ts';
import { me } from '../session.ts';
import { Passkeys } from './account/passkeys.tsx';
import { MineTabs } from './mine/tabs.tsx';

export default function Account() {
  return (
    <Page title="Your account">
      <MineTabs />
      <Panel title="You">
        <Facts
          facts={[
            ['E-mail', <Named key="" text={me.value.email ?? ''} />],
            ['Role', me.value.role],
            ['Groups', me.value.groups.length ? <Named key="" text={me.value.groups.join(', ')} /> : 'none'],
          ]}
        />
      </Panel>
      <SignIns />
      <Passkeys />
      <Password />
    </Page>
  );
}

const COLUMNS: Column<SignIn>[] = [
  {
    head: 'Browser',
    kind: 'wide',
    cell: ({ userAgent, current }) => (
      <span>
        <Named text={userAgent === '' ? 'unknown' : userAgent} />{' '}
        {current && <Badge tone="accent">this one</Badge>}
      </span>
    ),
  },
  { head: 'From', cell: ({ ip }) => <code>{ip}</code> },
  { head: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Last used', cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} /> },
];

function SignIns() {
  const list = useList<SignIn>('/me/sign-ins', 'signIns');
  const everywhere = async () => {
    await remove('/me/sign-ins');
    // The server redirects to the sign-in page.
    location.reload();
  };
  return (
    <Panel
      title="Where you are signed in"
      aside={
        <Confirm label="Sign out everywhere" title="Sign out everywhere?" action="Sign out" run={everywhere}>
          All your sign-ins end at once, this one too.
        </Confirm>
      }
    >
      <Shown of={list} empty={<Empty title="Nowhere" />}>
        <Table
          caption="Sign-ins, newest first"
          columns={COLUMNS}
          rows={list.data ?? []}
          keyOf={each => each.id}
        />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

function Password() {
  const form = useRef<HTMLFormElement>(null);
  const { busy, error, run } = useAction();
  const change = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const changed = await run(async () => {
      if (given.get('password') !== given.get('again'))
        throw new Error('The two new passwords are not the same.');
      await post('/me/password', { current: given.get('current'), password: given.get('password') });
    });
    if (!changed) return;
    form.current?.reset();
    announce('Your password is changed; your other sign-ins have ended.');
  };
  return (
    <Panel title="Change your password">
      <p class="soft">People who use single sign-on have no password here and need none.</p>
      <form ref={form} class="stack narrow-form" onSubmit={change}>
        <input
          type="text"
          name="username"
          value={me.value.email ?? ''}
          autocomplete="username"
          hidden
          readOnly
        />
        <Secret label="Current password" name="current" complete="current-password" />
        <Secret
          label="New password"
          name="password"
          complete="new-password"
          hint="At least 15 characters; a few unrelated words do well."
        />
        <Secret label="New password again" name="again" complete="new-password" />
        <Problem error={error} />
        <div class="actions">
          <button type="submit" disabled={busy}>
            Change the password
          </button>
        </div>
      </form>
    </Panel>
  );
}

interface SecretProps {
  label: string;
  name: string;
  complete: 'current-password' | 'new-password';
  hint?: string;
}

function Secret({ label, name, complete, hint }: SecretProps) {
  return (
    <Field label={label} hint={hint}>
      {ties => <input {...ties} type="password" name={name} autocomplete={complete} required />}
    </Field>
  );
}
