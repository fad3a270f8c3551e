// What requests about Connected Tools may say, and what answers show of one. connected-tools.ts and edit-connected-tool.ts
// have the routes.

import { z } from 'zod';
import { urlFault } from '../../guard/outgoing/addresses.ts';
import { TRANSPORTS } from '../../store/tool-servers.ts';
import { isoTime, text, uuid } from '../serving/fields.ts';
import { sandboxShown } from './sandbox-fields.ts';
import { signInState } from './server-sign-ins.ts';

export const name = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    'must be lower-case letters, digits and "-", at most 32, not starting with "-"',
  )
  .meta({
    description: 'The prefix of its tools: `<name>__<tool>`. A short one leaves room for tool names.',
  });

const header = z.string().regex(/^[\x20-\x7e]*$/, 'must be printable ASCII');
const FORBIDDEN = /^(host|content-length|content-type|accept|connection|transfer-encoding|mcp-.*)$/i;
export const headers = z
  .record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be a header name'), header)
  .refine(
    value => !Object.keys(value).some(key => FORBIDDEN.test(key)),
    'must not set headers of the transport',
  )
  .optional()
  .meta({
    description:
      'Headers sent with every request to the server, for credentials. Stored encrypted, never shown.',
  });

/** What RFC 6749 allows in a scope. */
const scope = z
  .string()
  .max(200)
  .regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+$/,
    'must be a scope: printable ASCII without spaces, quotes and backslashes',
  );

/** How we sign in to a server that wants OAuth. */
export const oauth = z
  .strictObject({
    as: z.enum(['key', 'person']).meta({
      description: '`key`: an admin signs in once for the key. `person`: everybody signs in for themselves.',
    }),
    clientId: z
      .string()
      .min(1)
      .max(2048)
      .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
      .optional()
      .meta({
        description:
          'The id of an own app at the server. Without it, Toolgate registers itself or shows its metadata document.',
      }),
    clientSecret: z
      .string()
      .min(1)
      .max(2048)
      .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
      .optional()
      .meta({ description: 'Only with `clientId`. Stored encrypted, never shown.' }),
    scopes: z
      .array(scope)
      .max(100)
      .optional()
      .meta({ description: 'All scopes to ask for. Without it, the server says which.' }),
    trustedHosts: z
      .array(
        z
          .string()
          .max(260)
          .regex(
            /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
            'must be a host, such as auth.example.com',
          ),
      )
      .max(10)
      .optional()
      .meta({
        description:
          'Further hosts on which the endpoints of its authorization server may be. Without it, only on the host of its issuer.',
      }),
  })
  .refine(given => given.clientSecret === undefined || given.clientId !== undefined, {
    path: ['clientSecret'],
    message: 'only goes with a clientId',
  });

export const url = text(urlFault, 'The URL of its MCP endpoint.');

/** How requests to the server are authenticated. */
export const auth = z.enum(['none', 'headers', 'oauth']);

export const body = z.discriminatedUnion('transport', [
  z.strictObject({
    name,
    transport: z.enum(['http', 'sse']),
    url,
    headers,
    auth: auth.optional().meta({
      description: '`oauth` for a server that people sign in to. Otherwise it follows from `headers`.',
    }),
    oauth: oauth.optional(),
  }),
  z.strictObject({
    name,
    transport: z.literal('stdio'),
    server: z
      .string()
      .meta({ description: 'The name of a server declared under `stdioServers` in the server file.' }),
  }),
]);

export const shown = z.object({
  id: uuid,
  name: z.string(),
  transport: z.enum(TRANSPORTS),
  url: z.string().optional().meta({ description: 'Only its server, unless an admin asks.' }),
  server: z.string().optional(),
  hasHeaders: z.boolean(),
  auth,
  oauth: z
    .object({
      as: z.enum(['key', 'person']),
      clientId: z.string().optional(),
      scopes: z.array(z.string()).optional(),
      trustedHosts: z.array(z.string()).optional(),
      hasClientSecret: z.boolean(),
    })
    .nullable(),
  redirectUri: z
    .string()
    .nullable()
    .meta({ description: 'Where an own app at the server has to redirect to; null without OAuth.' }),
  authorizationServer: z.string().nullable().meta({
    description:
      'The issuer with which somebody first signed in. Another one is refused until an admin accepts it.',
  }),
  signIn: signInState.nullable().meta({ description: 'The key’s sign-in; null if it has none of its own.' }),
  createdAt: isoTime,
  updatedAt: isoTime.nullable().meta({ description: 'When it was last changed.' }),
  health: z.object({
    state: z.enum(['idle', 'ready', 'down']),
    error: z.string().nullable(),
    since: isoTime,
  }),
  sandbox: sandboxShown,
  tools: z.array(z.object({ name: z.string(), drifted: z.boolean() })),
});
