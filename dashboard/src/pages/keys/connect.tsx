// The form that connects an MCP server to a key.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { useGet } from '../../load.ts';
import type { Settings } from '../../resources.ts';

const TRANSPORTS = [
  ['http', 'Streamable HTTP'],
  ['sse', 'HTTP with server-sent events (older)'],
  ['stdio', 'A command of the server file'],
] as const;

export function Connect({ keyId, onConnected }: { keyId: string; onConnected: () => void }) {
  const [open, setOpen] = useState(false);
  const connect = async (form: FormData) => {
    const wanted = toolIn(form);
    await post(`/keys/${keyId}/connected-tools`, wanted);
    announce(`Connected: ${wanted.name}`);
    onConnected();
  };
  return (
    <>
      <button type="button" class="plain small" onClick={() => setOpen(true)}>
        Connect an MCP server
      </button>
      <FormDialog
        title="Connect an MCP server"
        open={open}
        onClose={() => setOpen(false)}
        action="Connect"
        submit={connect}
      >
        <Fields />
      </FormDialog>
    </>
  );
}

function toolIn(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '');
  const named = { name: text('name'), transport: text('transport') };
  if (named.transport === 'stdio') return { ...named, server: text('server') };
  const headers = headersIn(text('headers'));
  return { ...named, url: text('url'), ...(headers === null ? {} : { headers }) };
}

/** Reads lines of the form `Name: value`. */
function headersIn(text: string): Record<string, string> | null {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  if (lines.length === 0) return null;
  return Object.fromEntries(
    lines.map(line => {
      const at = line.indexOf(':');
      if (at < 0) throw new Error(`A header is "Name: value"; this is not: ${line}`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

function Fields() {
  const [transport, setTransport] = useState('http');
  return (
    <>
      <Field label="Name" hint="Prefix of its tools: name__tool. Lower-case letters, digits and -.">
        {ties => <input {...ties} name="name" required pattern="[a-z0-9][a-z0-9\-]{0,31}" />}
      </Field>
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
    ? 'None is declared: add one under stdioServers in toolgate.yaml and start the service again.'
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
      <Field label="Address" hint="Its MCP endpoint.">
        {ties => <input {...ties} name="url" type="url" required placeholder="https://example.com/mcp" />}
      </Field>
      <Field
        label="Headers"
        hint="For its credentials, one “Name: value” to a line. Encrypted, never shown again."
      >
        {ties => (
          <textarea {...ties} name="headers" rows={2} class="mono" spellcheck={false} autocomplete="off" />
        )}
      </Field>
    </>
  );
}
