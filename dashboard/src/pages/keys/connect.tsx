// The form that adds an MCP server to a key.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { useGet } from '../../load.ts';
import type { ConnectedTool, Settings } from '../../resources.ts';
import {
  AddressField,
  HeadersField,
  headersIn,
  NameField,
  OAuthFields,
  oauthIn,
  textIn,
} from './tool-fields.tsx';

const TRANSPORTS = [
  ['http', 'Streamable HTTP'],
  ['sse', 'HTTP with server-sent events (older)'],
  ['stdio', 'A command of the server file'],
] as const;

export function Connect({ keyId, onAdded }: { keyId: string; onAdded: (server: ConnectedTool) => void }) {
  const [open, setOpen] = useState(false);
  const add = async (form: FormData) => {
    const wanted = toolIn(form);
    const added = await post<ConnectedTool>(`/keys/${keyId}/connected-tools`, wanted);
    announce(`Added: ${added.name}`);
    onAdded(added);
  };
  return (
    <>
      <button type="button" class="plain small" onClick={() => setOpen(true)}>
        Add an MCP server
      </button>
      <FormDialog
        title="Add an MCP server"
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

function toolIn(form: FormData) {
  const named = { name: textIn(form, 'name'), transport: textIn(form, 'transport') };
  if (named.transport === 'stdio') return { ...named, server: textIn(form, 'server') };
  const oauth = oauthIn(form);
  return {
    ...named,
    url: textIn(form, 'url'),
    ...headersIn(form),
    ...(oauth === null ? {} : { auth: 'oauth', oauth }),
  };
}

function Fields() {
  const [transport, setTransport] = useState('http');
  return (
    <>
      <NameField />
      <Field label="Transport">
        {ties => (
          <select
            {...ties}
            name="transport"
            value={transport}
            onChange={event => setTransport(event.currentTarget.value)}
          >
            {TRANSPORTS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {transport === 'stdio' ? <StdioServer /> : <Address />}
    </>
  );
}

function StdioServer() {
  const { data } = useGet<Settings>('/settings');
  const none = data?.stdioServers.length === 0;
  const hint = none
    ? 'None is declared: add one under stdioServers in toolgate.yaml, and have the file read again (toolgate servers reload).'
    : 'Declared under stdioServers in the server file.';
  return (
    <Field label="Command" hint={hint}>
      {ties => (
        <select {...ties} name="server" required>
          {data?.stdioServers.map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Address() {
  return (
    <>
      <AddressField />
      <OAuthFields />
      <HeadersField hint="For its credentials, one “Name: value” to a line. Encrypted, never shown again." />
    </>
  );
}
