// Which people may sign in with a client of their own and use a key, and the form that changes it.

import { useEffect, useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { patch } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Entries } from '../../components/entries.tsx';
import { Panel } from '../../components/page.tsx';
import { Badge, Named } from '../../components/text.tsx';
import { loadPeople, people } from '../../names.ts';
import type { Key } from '../../resources.ts';
import { clientAddress, mayAdminister } from '../../session.ts';

export function OpenTo({ of: key, reload }: { of: Key; reload: () => void }) {
  const [open, setOpen] = useState(false);
  const mayChange = mayAdminister.value && key.revokedAt === null;
  return (
    <Panel
      title="Open to people"
      aside={
        mayChange && (
          <button type="button" class="plain small" onClick={() => setOpen(true)}>
            Change who
          </button>
        )
      }
    >
      <div class="stack">
        <p class="soft">
          These people can sign in with an MCP client of their own, without this key’s secret. Their calls are
          decided by this key’s policy and recorded in their name.
        </p>
        <SignInIsOff />
        {key.openTo.length === 0 ? (
          <p>Nobody: only whoever has the key can use it.</p>
        ) : (
          <ul class="cluster">
            {key.openTo.map(entry => (
              <li key={entry}>
                <Entry of={entry} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {open && <Change of={key} onClose={() => setOpen(false)} onChanged={reload} />}
    </Panel>
  );
}

const GROUP = 'group:';
const PERSON = 'person:';

function Entry({ of: entry }: { of: string }) {
  const isGroup = entry.startsWith(GROUP);
  return (
    <Badge tone={isGroup ? 'accent' : 'plain'}>
      {isGroup && 'group '}
      <Named text={entry.slice(entry.indexOf(':') + 1)} />
    </Badge>
  );
}

/**
 * Opening a key changes nothing while nobody can sign in to it. The page itself says whether they can: a notice that had to
 * be loaded would move the buttons below it, away from under a click.
 */
function SignInIsOff() {
  if (clientAddress !== '') return null;
  return (
    <p class="notice">
      <span>
        <code>TOOLGATE_OAUTH</code> is off, so clients cannot sign in; only tokens of your company’s issuer
        work, if <code>TOOLGATE_JWT_ISSUER</code> names one. Set it to <code>on</code>, together with{' '}
        <code>TOOLGATE_PUBLIC_URL</code>, and restart the service.
      </span>
    </p>
  );
}

interface ChangeProps {
  of: Key;
  onClose: () => void;
  onChanged: () => void;
}

function Change({ of: key, onClose, onChanged }: ChangeProps) {
  const named = (kind: string) =>
    key.openTo.filter(each => each.startsWith(kind)).map(each => each.slice(kind.length));
  const [groups, setGroups] = useState(named(GROUP));
  const [emails, setEmails] = useState(named(PERSON));
  useEffect(() => {
    loadPeople().catch(() => {});
  }, []);
  const submit = async () => {
    const openTo = [...groups.map(each => GROUP + each), ...emails.map(each => PERSON + each)];
    await patch(`/keys/${key.id}`, { openTo });
    announce(`Saved who may use ${key.name}`);
    onChanged();
  };
  const known = people.value;
  return (
    <FormDialog title="Who may use this key" open onClose={onClose} action="Save" submit={submit}>
      <p>
        Whoever is left out can make no further call from that moment on, also with a client that they have
        connected.
      </p>
      <Entries
        label="Groups"
        hint="Everybody in the group. Admins manage groups on the page Operators, or single sign-on does."
        none="No group."
        entries={groups}
        change={setGroups}
        known={[...new Set(known.flatMap(each => each.groups))].sort()}
      />
      <Entries
        label="People"
        hint="Their e-mail address. They need an account here; the role user is enough."
        none="Nobody by name."
        entries={emails}
        change={setEmails}
        known={known.map(({ email }) => email).sort()}
      />
    </FormDialog>
  );
}
