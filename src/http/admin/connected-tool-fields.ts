// What requests about Connected Tools and tool servers may say, and what answers show of one. source-fields.ts reads and shows
// them; connected-tools.ts, edit-connected-tool.ts and tool-servers.ts have the routes.

import { z } from 'zod';
import { urlFault } from '../../guard/outgoing/addresses.ts';
import { callHeaderFault } from '../../guard/tool-servers/call-header.ts';
import { TRANSPORTS, TRUSTS } from '../../store/tool-servers.ts';
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
  .superRefine((value, context) => {
    const message = callHeaderFault(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .optional()
  .meta({
    description:
      'Headers sent with every request to the server, for credentials. Stored encrypted, never shown. `Idempotency-Key: call` is ' +
      'sent with each call that is forwarded, and stands for a key of that call.',
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
      description:
        '`key`: an admin signs in once for the key, or for all keys that share the server. `person`: everybody signs in for themselves.',
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

export const trust = z.enum(TRUSTS).meta({
  description:
    '`first`: the first definition that a tool shows is accepted. `reviewed`: calls of a tool wait, or are denied, until ' +
    'somebody has accepted its present definition.',
});

const overNetwork = z.strictObject({
  name,
  transport: z.enum(['http', 'sse']),
  url,
  headers,
  auth: auth.optional().meta({
    description: '`oauth` for a server that people sign in to. Otherwise it follows from `headers`.',
  }),
  oauth: oauth.optional(),
  trust: trust.default('first'),
});

const ofCommand = z.strictObject({
  name,
  transport: z.literal('stdio'),
  server: z
    .string()
    .meta({ description: 'The name of a server declared under `stdioServers` in the server file.' }),
  trust: trust.default('first'),
});

/** A tool server, or a Connected Tool that carries its own definition. */
export const serverBody = z.discriminatedUnion('transport', [overNetwork, ofCommand]);

const HOW = 'must be the id of a tool server, unless transport and url or server say how to reach one';

const ofShared = z.strictObject({
  transport: z.literal('shared').optional().meta({ description: 'May be left out.' }),
  toolServerId: z.uuid(HOW).meta({ description: 'The id of a tool server that keys share.' }),
  name: name.optional().meta({ description: 'Without it, the name of the tool server.' }),
});

export const body = z.discriminatedUnion('transport', [overNetwork, ofCommand, ofShared]);

/** What can be changed of a tool server, and of a Connected Tool that carries its own definition. */
export const changes = z
  .strictObject({
    name: name.optional(),
    url: url.optional(),
    headers: headers.nullable().optional().meta({ description: 'Replaces all of them; null removes them.' }),
    server: z.string().optional().meta({ description: 'The name of another declared stdio server.' }),
    auth: auth.optional().meta({
      description: 'Another value than `oauth` ends the sign-ins, and `none` removes the headers too.',
    }),
    oauth: oauth.optional().meta({
      description:
        'Replaces all of it. A `clientSecret` that is left out stays, unless there is another `clientId`. The next sign-in ' +
        'may be with another authorization server than the first one was.',
    }),
    trust: trust.optional(),
  })
  .refine(given => Object.keys(given).length > 0, 'must change something');

/** What is shown of a tool server, and of a Connected Tool. */
export const shownSource = z.object({
  id: uuid,
  name: z.string(),
  transport: z.enum(TRANSPORTS),
  url: z.string().optional().meta({ description: 'Only its server, unless an admin asks.' }),
  server: z.string().optional(),
  hasHeaders: z.boolean(),
  namesCalls: z.boolean().meta({
    description:
      'Whether each call that is forwarded carries an `Idempotency-Key`, by which the server knows it again.',
  }),
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
  signIn: signInState.nullable().meta({
    description: 'The sign-in of the key, or the one for all keys; null if there is none of that kind.',
  }),
  createdAt: isoTime,
  updatedAt: isoTime.nullable().meta({ description: 'When it was last changed.' }),
  trust,
  health: z.object({
    state: z.enum(['idle', 'ready', 'down']),
    error: z.string().nullable(),
    since: isoTime,
  }),
  sandbox: sandboxShown,
  tools: z.array(z.object({ name: z.string(), drifted: z.boolean() })),
});

export const shown = shownSource.extend({
  toolServerId: uuid.nullable().meta({
    description:
      'The tool server that it names, whose fields these are; null if it carries its own definition.',
  }),
});

/** What came of an attempt to connect. */
export const tested = z.object({ ok: z.boolean(), error: z.string().nullable(), tools: z.array(z.string()) });
