// Operators: the people who may sign in, their roles and groups, and a form to invite others.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../announce.ts';
import { patch, post, remove } from '../api.ts';
import { Confirm, FormDialog } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { Once } from '../components/once.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Ago, Badge, Named } from '../components/text.tsx';
import { useList } from '../load.ts';
import type { InvitedOperator, Operator, Role } from '../resources.ts';
import { loadMe, mayAdminister, me } from '../session.ts';

const ROLES: [Role, string][] = [
  ['user', 'sees only what is their own'],
  ['viewer', 'sees everything, changes nothing'],
  ['approver', 'also answers approvals'],
  ['admin', 'may do everything'],
];

export default function Operators() {
  const list = useList<Operator>('/operators', 'operators');
  const { query, route } = useLocation();
  const [link, setLink] = useState<string | null>(null);
  const [change, setChange] = useState<RoleChange | null>(null);
  const [regrouped, setRegrouped] = useState<Operator | null>(null);
  const invite = async (form: FormData) => {
    const wanted = { email: String(form.get('email')), role: String(form.get('role')) };
    const { inviteUrl } = await post<InvitedOperator>('/operators', wanted);
    setLink(inviteUrl);
    list.reload();
  };
  const admin = mayAdminister.value;
  return (
    <Page
      title="Operators"
      lead="The people who sign in here. Agents use keys."
      actions={
        admin && (
          <button type="button" onClick={() => route('/dashboard/operators?new')}>
            Invite
          </button>
        )
      }
    >
      <section class="panel" aria-label="Operators">
        <Shown of={list} empty={<Empty title="Nobody can sign in">Invite the first operator.</Empty>}>
          <Table
            caption="Operators, newest first"
            columns={columns(admin, setChange, setRegrouped, list.reload)}
            rows={list.data ?? []}
            keyOf={each => each.id}
          />
          <More more={list.more} />
        </Shown>
      </section>
      <FormDialog
        title="Invite an operator"
        open={'new' in query && admin}
        onClose={() => route('/dashboard/operators', true)}
        action="Make the link"
        submit={invite}
      >
        <Invitation />
      </FormDialog>
      <ChangeRole of={change} onClose={() => setChange(null)} onChanged={list.reload} />
      <ChangeGroups of={regrouped} onClose={() => setRegrouped(null)} onChanged={list.reload} />
      <Once title="The invitation’s link" name="link" secret={link} onClose={() => setLink(null)}>
        Send it to the person you invited. It works once, within 7 days, and is never shown again.
      </Once>
    </Page>
  );
}

function Invitation() {
  return (
    <>
      <Field label="E-mail">
        {ties => <input {...ties} name="email" type="email" required autocomplete="off" />}
      </Field>
      <Field
        label="Role"
        hint="A user signs in with MCP clients of their own, to the keys that are open to them."
      >
        {ties => (
          <select {...ties} name="role">
            {ROLES.map(([role, words]) => (
              <option key={role} value={role}>
                {role}: {words}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}

interface RoleChange {
  operator: Operator;
  role: Role;
}

interface ChangeRoleProps {
  of: RoleChange | null;
  onClose: () => void;
  onChanged: () => void;
}

function ChangeRole({ of: change, onClose, onChanged }: ChangeRoleProps) {
  const submit = async () => {
    if (change === null) return;
    await patch(`/operators/${change.operator.id}`, { role: change.role });
    announce(`${change.operator.email} is now ${change.role}.`);
    onChanged();
    await loadMe();
  };
  const [, words] = ROLES.find(([role]) => role === change?.role) ?? [];
  return (
    <FormDialog
      title="Change the role?"
      open={change !== null}
      onClose={onClose}
      action="Change"
      submit={submit}
      danger
    >
      <p>
        <Named text={change?.operator.email ?? ''} /> becomes {change?.role}: {words}. It takes effect at
        once, for open sign-ins too.
      </p>
    </FormDialog>
  );
}

interface ChangeGroupsProps {
  of: Operator | null;
  onClose: () => void;
  onChanged: () => void;
}

function ChangeGroups({ of: operator, onClose, onChanged }: ChangeGroupsProps) {
  const submit = async (form: FormData) => {
    if (operator === null) return;
    const lines = String(form.get('groups')).split('\n');
    const groups = lines.map(line => line.trim()).filter(line => line !== '');
    await patch(`/operators/${operator.id}`, { groups });
    announce(`Groups changed: ${operator.email}`);
    onChanged();
    await loadMe();
  };
  return (
    <FormDialog
      title="Change the groups"
      open={operator !== null}
      onClose={onClose}
      action="Save"
      submit={submit}
    >
      <p>
        A rule can let only the operators of a group answer its approvals. A change takes effect at once.
        Where single sign-on lists groups, the next sign-on of <Named text={operator?.email ?? ''} /> replaces
        these.
      </p>
      <Field label="Groups" hint="One on each line.">
        {ties => (
          <textarea
            {...ties}
            name="groups"
            rows={4}
            spellcheck={false}
            defaultValue={operator?.groups.join('\n')}
          />
        )}
      </Field>
    </FormDialog>
  );
}

function columns(
  admin: boolean,
  change: (change: RoleChange) => void,
  regroup: (operator: Operator) => void,
  reload: () => void,
): Column<Operator>[] {
  const shown: Column<Operator>[] = [
    { head: 'E-mail', kind: 'wide', cell: operator => <Person of={operator} /> },
    {
      head: 'Role',
      cell: operator =>
        admin ? <RoleChoice of={operator} change={role => change({ operator, role })} /> : operator.role,
    },
    {
      head: 'Groups',
      cell: operator => <Groups of={operator} regroup={admin ? () => regroup(operator) : null} />,
    },
    {
      head: 'State',
      cell: ({ status }) => <Badge tone={status === 'active' ? 'allow' : 'pending'}>{status}</Badge>,
    },
    { head: 'Since', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  ];
  return admin ? [...shown, removing(reload)] : shown;
}

function Person({ of: { email } }: { of: Operator }) {
  return (
    <span>
      <Named text={email} /> {email === me.value.email && <Badge tone="accent">you</Badge>}
    </span>
  );
}

function Groups({ of: { email, groups }, regroup }: { of: Operator; regroup: (() => void) | null }) {
  return (
    <span class="cluster">
      {groups.length === 0 && <span class="soft">none</span>}
      {groups.map(group => (
        <Badge key={group} tone="plain">
          <Named text={group} />
        </Badge>
      ))}
      {regroup !== null && (
        <button
          type="button"
          class="plain small"
          aria-label={`Change the groups of ${email}`}
          onClick={regroup}
        >
          Change
        </button>
      )}
    </span>
  );
}

interface RoleChoiceProps {
  of: Operator;
  change: (role: Role) => void;
}

function RoleChoice({ of: { email, role }, change }: RoleChoiceProps) {
  return (
    <select
      class="narrow"
      aria-label={`Role of ${email}`}
      value={role}
      onChange={event => change(event.currentTarget.value as Role)}
    >
      {ROLES.map(([name]) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

const removing = (reload: () => void): Column<Operator> => ({
  head: 'Actions',
  kind: 'actions',
  cell: ({ id, email }) => (
    <Confirm
      label="Remove"
      title="Remove this operator?"
      run={async () => {
        await remove(`/operators/${id}`);
        announce(`Removed: ${email}`);
        reload();
      }}
    >
      <Named text={email} /> is signed out everywhere at once and cannot sign in again. What they did stays in
      the log.
    </Confirm>
  ),
});
