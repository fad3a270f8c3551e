// The keys that use a tool server, and the form that gives it to another one.

import { useState } from 'preact/hooks';
import { visible } from '../../../../src/core/text/visible.ts';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Panel } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Named } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { ConnectedTool, Key, ToolServer, ToolServerUse } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { NameField, textIn } from '../keys/tool-fields.tsx';

const COLUMNS: Column<ToolServerUse>[] = [
  {
    head: 'Key',
    kind: 'wide',
    cell: ({ keyId, keyName }) => (
      <a href={`/dashboard/keys/${keyId}`}>
        <Named text={keyName} />
      </a>
    ),
  },
  { head: 'Its tools are called', cell: ({ name }) => <code>{`${name}__…`}</code> },
];

interface UsesProps {
  of: ToolServer;
  /** The first thousand of them. */
  uses: readonly ToolServerUse[];
  reload: () => void;
}

export function Uses({ of: server, uses, reload }: UsesProps) {
  return (
    <Panel title="Used by" aside={mayAdminister.value && <Give server={server} onGiven={reload} />}>
      {uses.length === 0 ? (
        <Empty title="No key uses it yet">
          Give it to a key: its agent then finds the tools behind /mcp.
        </Empty>
      ) : (
        <Table
          caption="Keys that use it"
          columns={COLUMNS}
          rows={uses}
          keyOf={each => each.connectedToolId}
        />
      )}
      {server.keys > 0 && mayAdminister.value && (
        <p class="hint">
          It can be deleted when no key uses it any more: remove it on the pages of the keys.
        </p>
      )}
    </Panel>
  );
}

function Give({ server, onGiven }: { server: ToolServer; onGiven: () => void }) {
  const [open, setOpen] = useState(false);
  const give = async (form: FormData) => {
    const wanted = { toolServerId: server.id, name: textIn(form, 'name') };
    await post<ConnectedTool>(`/keys/${textIn(form, 'key')}/connected-tools`, wanted);
    announce(`Given to a key: ${server.name}`);
    onGiven();
  };
  return (
    <>
      <button type="button" class="plain small" onClick={() => setOpen(true)}>
        Give it to a key
      </button>
      <FormDialog
        title="Give it to a key"
        open={open}
        onClose={() => setOpen(false)}
        action="Give"
        submit={give}
      >
        <KeyField />
        <NameField value={server.name} />
      </FormDialog>
    </>
  );
}

function KeyField() {
  const { data } = useList<Key>('/keys', 'keys', { limit: 1000 });
  return (
    <Field label="Key">
      {ties => (
        <select {...ties} name="key" required>
          {data
            ?.filter(({ revokedAt }) => revokedAt === null)
            .map(({ id, name }) => (
              <option key={id} value={id}>
                {visible(name)}
              </option>
            ))}
        </select>
      )}
    </Field>
  );
}
