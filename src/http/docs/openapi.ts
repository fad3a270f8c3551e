// Makes the OpenAPI document from the schemas that validate requests.

import { z } from 'zod';
import type { Access, AnswerShape, Route } from '../serving/route.ts';

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string().meta({ description: 'A stable error code for programs.' }),
  requestId: z.string(),
  errors: z
    .array(z.object({ path: z.string().meta({ description: 'JSON Pointer.' }), message: z.string() }))
    .optional(),
});

const ADMINISTRATION = ['adminToken', 'signIn'];

/** Any one of these credentials is sufficient. */
const SECURITY: Record<Access, string[]> = {
  public: [],
  agent: ['agentCredential'],
  door: ['agentCredential'],
  key: ['key'],
  own: ADMINISTRATION,
  view: ADMINISTRATION,
  resolve: ADMINISTRATION,
  admin: ADMINISTRATION,
};

export type OpenApi = ReturnType<typeof openapi>;

export function openapi(routes: readonly Route[], version: string) {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const each of routes.filter(({ unlisted }) => unlisted !== true)) {
    const path = each.path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{rest}');
    // OpenAPI cannot express “any method”; the description of such a route says so.
    const method = each.method === 'ANY' ? 'POST' : each.method;
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation({ ...each, method }) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Toolgate',
      version,
      description: 'Decides whether an agent’s tool call may proceed, and records every decision first.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemSchema, 'output') },
      securitySchemes: {
        agentCredential: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key (`tg_key_…`) or a session token (`tg_ses_…`).',
        },
        key: { type: 'http', scheme: 'bearer', description: 'A long-lived key (`tg_key_…`).' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'The admin token.' },
        signIn: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-toolgate',
          description:
            'A dashboard sign-in, with the rights of its role: the cookie `__Host-toolgate`, or over plain http `toolgate_session`.',
        },
      },
    },
  };
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  /** Who may call the route, as serving/route.ts names it. */
  'x-access': Access;
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { required: boolean; content: Record<string, { schema: object }> };
  responses: Record<string, object>;
}

function operation(route: Route): Operation {
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    security: SECURITY[route.access].map(scheme => ({ [scheme]: [] })),
    'x-access': route.access,
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: route.bodyOptional !== true,
            content: bodyContent(jsonSchema(route.body, 'input'), route.form !== undefined),
          },
        }),
    responses: responses(route),
  };
}

function bodyContent(schema: object, form: boolean): Record<string, { schema: object }> {
  return {
    'application/json': { schema },
    ...(form ? { 'application/x-www-form-urlencoded': { schema } } : {}),
  };
}

function operationId({ method, path }: Route): string {
  const parts = path.endsWith('/') ? `${path}slash` : path.replace(/\*$/, 'rest');
  const words = parts.split('/').filter(part => part !== '' && part !== 'v1');
  const named = words.map(part =>
    part.replace(/^:/, 'by-').replace(/[^A-Za-z]+(.)?/g, (_, next = '') => next.toUpperCase()),
  );
  return method.toLowerCase() + named.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function pathParameters(route: Route) {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(found => found[1] as string);
  if (route.path.endsWith('*')) names.push('rest');
  return names.map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(route: Route) {
  if (route.query === undefined) return [];
  const { properties = {}, required = [] } = jsonSchema(route.query, 'input') as {
    properties?: Record<string, object>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function responses(route: Route): Record<string, object> {
  const found: Record<string, object> = {};
  for (const [status, answer] of Object.entries(route.answers))
    found[status] = response(answer, Number(status));
  found['default'] = {
    description: 'A problem (RFC 9457).',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
  return found;
}

function response(answer: AnswerShape, status: number): object {
  if (answer.schema === undefined && answer.type === undefined) {
    if (status < 400) return { description: answer.description };
    const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
    return { description: answer.description, content };
  }
  const schema = answer.schema === undefined ? { type: 'string' } : jsonSchema(answer.schema, 'output');
  return { description: answer.description, content: { [answer.type ?? 'application/json']: { schema } } };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
