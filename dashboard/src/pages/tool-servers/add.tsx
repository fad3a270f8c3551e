// The form that adds a tool server. It can begin with a preset: a well-known server, whose fields are then filled in. A
// preset of a command only shows what belongs into the server file.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { Command } from '../../components/command.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Problem } from '../../components/states.tsx';
import { useGet } from '../../load.ts';
import type { ToolServer, ToolServerPreset } from '../../resources.ts';
import { type ServerBegins, ServerFields, serverIn } from '../keys/connect.tsx';

interface AddProps {
  open: boolean;
  onClose: () => void;
  onAdded: (server: ToolServer) => void;
}

export function AddServer({ open, onClose, onAdded }: AddProps) {
  const add = async (form: FormData) => {
    const added = await post<ToolServer>('/tool-servers', serverIn(form));
    announce(`Added: ${added.name}`);
    onAdded(added);
  };
  return (
    <FormDialog title="Add a tool server" open={open} onClose={onClose} action="Add" submit={add} wide>
      <Fields />
    </FormDialog>
  );
}

function Fields() {
  const { data, error } = useGet<{ presets: ToolServerPreset[] }>('/tool-server-presets');
  const [name, setName] = useState('');
  const preset = data?.presets.find(each => each.name === name);
  return (
    <>
      <Problem error={error} />
      <Field label="Begin with" hint="Fills in the fields below for a well-known server.">
        {ties => (
          <select {...ties} value={name} onChange={event => setName(event.currentTarget.value)}>
            <option value="">A server of your own choice</option>
            {data?.presets.map(each => (
              <option key={each.name} value={each.name}>
                {each.title} ({each.by})
              </option>
            ))}
          </select>
        )}
      </Field>
      {preset !== undefined && <About preset={preset} />}
      <ServerFields key={name} isShared begin={preset === undefined ? {} : beginsOf(preset)} />
    </>
  );
}

function beginsOf({ name, transport, url = '', accepts = [], headers = {} }: ToolServerPreset): ServerBegins {
  if (transport === 'stdio') return { name, transport, command: name };
  if (accepts[0] === 'oauth') return { name, transport, url, signsIn: 'key' };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  return { name, transport, url, headers: lines.join('\n') };
}

function About({
  preset: { needs, source, readOn, pack, install, declaration },
}: {
  preset: ToolServerPreset;
}) {
  return (
    <div class="notice preset">
      <ul>
        {needs.map(each => (
          <li key={each}>{each}</li>
        ))}
        <li>
          The pack <code>{pack}</code> has a policy for it. Its{' '}
          <a href={source} target="_blank" rel="noreferrer">
            documentation
          </a>{' '}
          was read on {readOn}.
        </li>
      </ul>
      {typeof install === 'string' && (
        <div>
          <p>Install it on the machine of the service:</p>
          <Command text={install} />
        </div>
      )}
      {declaration !== undefined && (
        <div>
          <p>
            Declare it under <code>stdioServers</code> in the server file, with your own values, and have the
            file read again (<code>toolgate servers reload</code>). Then choose the command below.
          </p>
          <Command text={declaration} label="Copy the declaration" />
        </div>
      )}
    </div>
  );
}
