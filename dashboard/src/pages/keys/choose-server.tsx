// The form that gives a key a tool server that keys share.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { useList } from '../../load.ts';
import type { ConnectedTool, ToolServer } from '../../resources.ts';
import { NameField, textIn } from './tool-fields.tsx';

export function ChooseServer({
  keyId,
  onAdded,
}: {
  keyId: string;
  onAdded: (server: ConnectedTool) => void;
}) {
  const [open, setOpen] = useState(false);
  const add = async (form: FormData) => {
    const wanted = { toolServerId: textIn(form, 'toolServer'), name: textIn(form, 'name') };
    const added = await post<ConnectedTool>(`/keys/${keyId}/connected-tools`, wanted);
    announce(`Added: ${added.name}`);
    onAdded(added);
  };
  return (
    <>
      <button type="button" class="plain small" onClick={() => setOpen(true)}>
        Add a shared server
      </button>
      <FormDialog
        title="Add a shared server"
        open={open}
        onClose={() => setOpen(false)}
        action="Add"
        submit={add}
      >
        <Fields />
      </FormDialog>
    </>
  );
}

function Fields() {
  const { data, error, reload, more } = useList<ToolServer>('/tool-servers', 'toolServers', { limit: 200 });
  const [id, setId] = useState<string | null>(null);
  if (data === undefined) return error === null ? <Loading /> : <Problem error={error} retry={reload} />;
  const chosen = data.find(each => each.id === id) ?? data[0];
  if (chosen === undefined)
    return (
      <Empty title="No server is shared yet">
        Add one on the page <a href="/dashboard/tool-servers">Tool servers</a>, or share one that a key has.
      </Empty>
    );
  return (
    <>
      <Field label="Tool server">
        {ties => (
          <select
            {...ties}
            name="toolServer"
            required
            value={chosen.id}
            onChange={event => setId(event.currentTarget.value)}
          >
            {data.map(each => (
              <option key={each.id} value={each.id}>
                {each.name} ({each.url ?? each.server})
              </option>
            ))}
          </select>
        )}
      </Field>
      {more !== null && (
        <button type="button" class="link" onClick={more}>
          Show more servers
        </button>
      )}
      <NameField key={chosen.id} value={chosen.name} />
    </>
  );
}
