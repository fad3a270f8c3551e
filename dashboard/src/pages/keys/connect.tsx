// The form that adds an MCP server to a key, and what it shares with the form for a tool server (tool-servers/add.tsx).

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import type { ConnectedTool } from '../../resources.ts';
import { TrustField, trustIn } from '../tool-servers/trust.tsx';
import { CommandField } from './command-field.tsx';
import {
  AddressField,
  HeadersField,
  headersIn,
  NameField,
  OAuthFields,
  oauthIn,
  type SignsIn,
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
    const added = await post<ConnectedTool>(`/keys/${keyId}/connected-tools`, serverIn(form));
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
        <ServerFields />
      </FormDialog>
    </>
  );
}

/** What the fields below say. */
export function serverIn(form: FormData) {
  const named = {
    name: textIn(form, 'name'),
    transport: textIn(form, 'transport'),
    trust: trustIn(form),
  };
  if (named.transport === 'stdio') return { ...named, server: textIn(form, 'server') };
  const oauth = oauthIn(form);
  return {
    ...named,
    url: textIn(form, 'url'),
    ...headersIn(form),
    ...(oauth === null ? {} : { auth: 'oauth', oauth }),
  };
}

/** What the fields begin with. */
export interface ServerBegins {
  name?: string;
  transport?: string;
  url?: string;
  headers?: string;
  signsIn?: SignsIn;
  command?: string;
}

export function ServerFields({ begin = {}, isShared = false }: { begin?: ServerBegins; isShared?: boolean }) {
  const [transport, setTransport] = useState(begin.transport ?? 'http');
  return (
    <>
      <NameField {...(begin.name !== undefined && { value: begin.name })} />
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
      {transport === 'stdio' ? (
        <CommandField value={begin.command} />
      ) : (
        <Remote begin={begin} isShared={isShared} />
      )}
      <TrustField />
    </>
  );
}

function Remote({ begin: { url, headers, signsIn }, isShared }: { begin: ServerBegins; isShared: boolean }) {
  return (
    <>
      <AddressField value={url} />
      <OAuthFields isShared={isShared} {...(signsIn !== undefined && { signsIn })} />
      <HeadersField
        value={headers}
        hint="For its credentials, one “Name: value” to a line. Encrypted, never shown again. “Idempotency-Key: call” gives each call a key of its own."
      />
    </>
  );
}
