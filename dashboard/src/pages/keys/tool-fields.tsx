// The fields of a form about an MCP server that is reached by its address, of a key or shared by keys, and what they say.
// connect.tsx and tool-servers/add.tsx add one; edit.tsx changes one.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Field } from '../../components/field.tsx';
import { Copy } from '../../components/text.tsx';
import type { Server } from '../../resources.ts';

const NAME = 'Prefix of its tools: name__tool. Lower-case letters, digits and -.';

export function NameField({ value, hint = NAME }: { value?: string; hint?: string }) {
  return (
    <Field label="Name" hint={hint}>
      {ties => (
        <input {...ties} name="name" required pattern="[a-z0-9][a-z0-9\-]{0,31}" defaultValue={value} />
      )}
    </Field>
  );
}

export function AddressField({ value }: { value?: string | undefined }) {
  return (
    <Field label="Address" hint="Its MCP endpoint.">
      {ties => (
        <input
          {...ties}
          name="url"
          type="url"
          required
          placeholder="https://example.com/mcp"
          defaultValue={value}
        />
      )}
    </Field>
  );
}

export function HeadersField({ hint, value }: { hint: ComponentChildren; value?: string | undefined }) {
  return (
    <Field label="Headers" hint={hint}>
      {ties => (
        <textarea
          {...ties}
          name="headers"
          rows={2}
          class="mono"
          spellcheck={false}
          autocomplete="off"
          defaultValue={value}
        />
      )}
    </Field>
  );
}

/** Reads lines of the form `Name: value`; empty where there is none. */
export function headersIn(form: FormData): { headers?: Record<string, string> } {
  const lines = textIn(form, 'headers')
    .split('\n')
    .filter(line => line.trim() !== '');
  if (lines.length === 0) return {};
  const headers = Object.fromEntries(
    lines.map(line => {
      const at = line.indexOf(':');
      if (at < 0) throw new Error(`A header is "Name: value"; this is not: ${line}`);
      const blank = /<[a-z ]+>/.exec(line)?.[0];
      if (blank !== undefined) throw new Error(`Put the real value in place of ${blank}.`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
  return { headers };
}

export function textIn(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim();
}

const SIGN_INS = {
  none: 'None, or by headers',
  key: 'With OAuth, by an admin',
  person: 'With OAuth, each person',
} as const;
export type SignsIn = keyof typeof SIGN_INS;

interface OAuthFieldsProps {
  current?: Server['oauth'];
  /** Where an app at the server has to redirect to; null before the server is added. */
  redirect?: string | null;
  /** What is chosen at first; without it, what there is. */
  signsIn?: SignsIn;
  isShared?: boolean;
}

export function OAuthFields({
  current = null,
  redirect = null,
  signsIn,
  isShared = false,
}: OAuthFieldsProps) {
  const [chosen, choose] = useState<SignsIn>(signsIn ?? current?.as ?? 'none');
  const who = chosen === 'key' && isShared ? FOR_ALL : chosen === 'none' ? undefined : WHO[chosen];
  return (
    <>
      <Field label="Sign-in" hint={who}>
        {ties => (
          <select
            {...ties}
            name="oauth"
            value={chosen}
            onChange={event => choose(event.currentTarget.value as SignsIn)}
          >
            {Object.entries(SIGN_INS).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {chosen !== 'none' && <OwnApp current={current} redirect={redirect} />}
    </>
  );
}

const WHO = {
  key: 'An admin signs in to the server once. All calls of this key use that account.',
  person:
    'Everybody signs in to the server with their own account, here or when a call needs it. For keys that are open to people.',
} as const;
const FOR_ALL = 'An admin signs in to the server once. The calls of all keys that use it use that account.';

/**
 * For servers that neither read our metadata document nor register clients. The address is shown only whole: some services
 * redirect to every path below the one that was entered, so with a shorter one they would also answer to other servers.
 */
function OwnApp({ current, redirect }: Required<Pick<OAuthFieldsProps, 'current' | 'redirect'>>) {
  const isOpen = current?.clientId !== undefined || current?.trustedHosts !== undefined;
  return (
    <details class="circumstances own-app" open={isOpen}>
      <summary>An app of your own, and scopes</summary>
      <div class="stack">
        <p class="soft">
          Most servers need none of this. Some, such as GitHub, register no clients: make an OAuth app there,
          and enter its id and secret here.{' '}
          {redirect === null
            ? 'The app has to redirect to an address that Edit shows once this is saved, and to no other.'
            : 'The app has to redirect to this address, and to no other:'}
        </p>
        {redirect !== null && (
          <p class="cluster">
            <code>{redirect}</code> <Copy text={redirect} label="Copy the address" wide />
          </p>
        )}
        <Field label="Client id">
          {ties => (
            <input
              {...ties}
              name="clientId"
              autocomplete="off"
              spellcheck={false}
              defaultValue={current?.clientId}
            />
          )}
        </Field>
        <Field
          label="Client secret"
          hint={
            current?.hasClientSecret === true
              ? 'One is stored. If this is empty, it stays.'
              : 'Encrypted, never shown again.'
          }
        >
          {ties => <input {...ties} name="clientSecret" type="password" autocomplete="off" />}
        </Field>
        <Field
          label="Scopes"
          hint="With spaces between them. If this is empty: what the server says by itself."
        >
          {ties => (
            <input
              {...ties}
              name="scopes"
              autocomplete="off"
              spellcheck={false}
              defaultValue={current?.scopes?.join(' ')}
            />
          )}
        </Field>
        <Field
          label="Trusted hosts"
          hint="With spaces between them: hosts besides its own that the authorization server may use, if it says that it does."
        >
          {ties => (
            <input
              {...ties}
              name="trustedHosts"
              autocomplete="off"
              spellcheck={false}
              defaultValue={current?.trustedHosts?.join(' ')}
            />
          )}
        </Field>
      </div>
    </details>
  );
}

/** What the fields above say; null where the server does not sign in with OAuth. */
export function oauthIn(form: FormData): Record<string, unknown> | null {
  const as = textIn(form, 'oauth');
  if (as === 'none' || as === '') return null;
  const [clientId, clientSecret] = [textIn(form, 'clientId'), textIn(form, 'clientSecret')];
  const words = (name: string) =>
    textIn(form, name)
      .split(/\s+/)
      .filter(each => each !== '');
  const [scopes, trustedHosts] = [words('scopes'), words('trustedHosts')];
  return {
    as,
    ...(clientId === '' ? {} : { clientId }),
    ...(clientSecret === '' ? {} : { clientSecret }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(trustedHosts.length === 0 ? {} : { trustedHosts }),
  };
}
