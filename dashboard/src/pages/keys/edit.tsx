// The form that changes an MCP server, of a key or shared by keys: its name, where it is, how it is signed in to, and the trust
// in it. Secrets are never shown, so empty fields leave them as they are.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { patch } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Named } from '../../components/text.tsx';
import type { Server } from '../../resources.ts';
import { TrustField, trustIn } from '../tool-servers/trust.tsx';
import { CommandField } from './command-field.tsx';
import {
  AddressField,
  HeadersField,
  headersIn,
  NameField,
  OAuthFields,
  oauthIn,
  textIn,
} from './tool-fields.tsx';

interface EditProps<T> {
  /** The path of the server. */
  path: string;
  tool: T;
  /** Of a key: with another name, its tools are called otherwise. */
  nameHint?: string;
  isShared?: boolean;
  /** The class of the button. */
  class?: string;
  onChanged: (server: T) => void;
}

const NAME = 'Prefix of its tools. Policies name them by it: if you change it, change them too.';

export function Edit<T extends Server>({
  path,
  tool,
  nameHint = NAME,
  isShared = false,
  onChanged,
  ...looks
}: EditProps<T>) {
  const [open, setOpen] = useState(false);
  const change = async (form: FormData) => {
    const changes = changesIn(form, tool);
    if (Object.keys(changes).length === 0) return;
    const changed = await patch<T>(path, changes);
    announce(`Changed: ${changed.name}`);
    onChanged(changed);
  };
  return (
    <>
      <button type="button" class={looks.class ?? 'plain small'} onClick={() => setOpen(true)}>
        Edit
      </button>
      <FormDialog
        title={`Edit ${tool.name}`}
        open={open}
        onClose={() => setOpen(false)}
        action="Save"
        submit={change}
      >
        <NameField value={tool.name} hint={nameHint} />
        {tool.transport === 'stdio' ? (
          <CommandField value={tool.server} />
        ) : (
          <Remote of={tool} isShared={isShared} />
        )}
        <TrustField value={tool.trust} />
      </FormDialog>
    </>
  );
}

function Remote({ of: server, isShared }: { of: Server; isShared: boolean }) {
  const { url, oauth, redirectUri, authorizationServer, hasHeaders } = server;
  return (
    <>
      <AddressField value={url} />
      <OAuthFields current={oauth} redirect={redirectUri} isShared={isShared} />
      {oauth !== null && (
        <p class="hint">Another address, sign-in or client id ends the sign-ins that there are.</p>
      )}
      {authorizationServer !== null && (
        <label class="check">
          <input type="checkbox" name="anotherServer" />
          <span>
            Accept another authorization server at the next sign-in. The first one was with{' '}
            <Named text={authorizationServer} />, and any other is refused.
          </span>
        </label>
      )}
      <HeadersField
        hint={
          hasHeaders
            ? 'One “Name: value” to a line, in place of those that are stored. If this is empty, those stay.'
            : 'One “Name: value” to a line. Encrypted, never shown again.'
        }
      />
      {hasHeaders && (
        <label class="check">
          <input type="checkbox" name="noHeaders" />
          <span>Remove the stored headers</span>
        </label>
      )}
    </>
  );
}

/** What differs from what is there. */
function changesIn(form: FormData, tool: Server): Record<string, unknown> {
  const [name, url, server] = [textIn(form, 'name'), textIn(form, 'url'), textIn(form, 'server')];
  const trust = trustIn(form);
  const common = {
    ...(name === tool.name ? {} : { name }),
    ...(trust === tool.trust ? {} : { trust }),
  };
  if (tool.transport === 'stdio') return server === tool.server ? common : { ...common, server };
  return {
    ...common,
    ...(url === tool.url ? {} : { url }),
    ...(form.has('noHeaders') ? { headers: null } : {}),
    ...headersIn(form),
    ...oauthChanges(form, tool.oauth),
  };
}

function oauthChanges(form: FormData, current: Server['oauth']): Record<string, unknown> {
  const oauth = oauthIn(form);
  // The stored headers stay.
  if (oauth === null) return current === null ? {} : { auth: 'headers' };
  return isSame(oauth, current) && !form.has('anotherServer') ? {} : { auth: 'oauth', oauth };
}

function isSame(given: Record<string, unknown>, current: Server['oauth']): boolean {
  if (current === null || 'clientSecret' in given) return false;
  const parts = ({ as, clientId, scopes, trustedHosts }: Record<string, unknown>) =>
    JSON.stringify([as, clientId, scopes, trustedHosts]);
  return parts(given) === parts(current);
}
