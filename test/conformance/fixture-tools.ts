// The tools that conformance scenarios call by name, and the results that they expect of them. How a call comes
// in and how its result goes out is fixture.ts.

import { createHmac, randomBytes } from 'node:crypto';

export type JsonObject = Record<string, unknown>;
export type Result = JsonObject;

export interface Context {
  args: JsonObject;
  progressToken: string | undefined;
  /** What the client behind the gateway can do; known in the newer era only. */
  capabilities: JsonObject;
  /** The client's answers to what an earlier result asked for, and the state that came with it. */
  answers: Record<string, JsonObject>;
  state: string | undefined;
  notify: (method: string, params: JsonObject) => void;
}

export interface Tool {
  description: string;
  inputSchema: JsonObject;
  run: (context: Context) => Result;
}

/** An answer of JSON-RPC for what went wrong. */
export class Fault extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: unknown;

  constructor(
    code: number,
    message: string,
    { status = 200, data }: { status?: number; data?: unknown } = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

export const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const AUDIO = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const text = (said: string): Result => ({ content: [{ type: 'text', text: said }] });
const embedded = (uri: string, mimeType: string, said: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: said },
});
const image = { type: 'image', data: IMAGE, mimeType: 'image/png' };

function tool(description: string, run: Tool['run'], inputSchema: JsonObject = { type: 'object' }): Tool {
  return { description, inputSchema, run };
}

/** The older era's way of asking the client needs a capability that the gateway does not declare. */
const needsClient = (what: string) =>
  tool(`Asks the client for ${what}`, () => ({
    ...text(`The client declared no capability for ${what}.`),
    isError: true,
  }));

const PLAIN: Record<string, Tool> = {
  test_simple_text: tool('Plain text', () => text('This is a simple text response for testing.')),
  test_image_content: tool('An image', () => ({ content: [image] })),
  test_audio_content: tool('A sound', () => ({
    content: [{ type: 'audio', data: AUDIO, mimeType: 'audio/wav' }],
  })),
  test_embedded_resource: tool('A resource within the result', () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  })),
  test_multiple_content_types: tool('Text, image and resource', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  })),
  test_error_handling: tool('Always fails', () => ({
    ...text('This tool intentionally returns an error for testing'),
    isError: true,
  })),
  test_tool_with_logging: tool('Logs three times', ({ notify }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      notify('notifications/message', { level: 'info', data });
    }
    return text('Tool with logging executed successfully');
  }),
  test_tool_with_progress: tool('Reports progress three times', ({ notify, progressToken }) => {
    for (const progress of [0, 50, 100]) {
      const message = `Completed step ${progress} of 100`;
      notify('notifications/progress', { progressToken, progress, total: 100, message });
    }
    return text(String(progressToken));
  }),
  test_sampling: needsClient('sampling'),
  test_elicitation: needsClient('elicitation'),
  test_elicitation_sep1034_defaults: needsClient('elicitation'),
  test_elicitation_sep1330_enums: needsClient('elicitation'),
  test_streaming_elicitation: tool('Says something before its result', ({ notify, progressToken }) => {
    notify('notifications/progress', { progressToken, progress: 50, total: 100 });
    return text('Streaming complete');
  }),
  test_logging_tool: tool('Logs once', ({ notify }) => {
    notify('notifications/message', { level: 'info', data: 'One line' });
    return text('Logging evaluated');
  }),
  test_missing_capability: tool('Works only with clients that sample', ({ capabilities }) => {
    if (capabilities['sampling'] !== undefined) return text('Success');
    const data = { requiredCapabilities: { sampling: {} } };
    throw new Fault(-32021, 'The client lacks a capability.', { status: 400, data });
  }),
  test_header_argument: tool(
    'Wants an argument repeated in a header',
    ({ args }) => text(String(args['region'])),
    {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
  ),
  json_schema_2020_12_tool: tool('Shows a rich schema', ({ args }) => text(JSON.stringify(args)), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
};

const SECRET = randomBytes(32);

/** State that a client carries back unread; one that was tampered with is refused. */
function seal(state: JsonObject): string {
  const data = JSON.stringify(state);
  return JSON.stringify({ data, mac: createHmac('sha256', SECRET).update(data).digest('hex') });
}

function unseal(sealed: string): JsonObject {
  try {
    const { data } = JSON.parse(sealed) as { data: string };
    const state = JSON.parse(data) as JsonObject;
    if (seal(state) === sealed) return state;
  } catch {
    // Not of our making: refused below.
  }
  throw new Fault(-32602, 'The requestState was changed.');
}

export function elicit(message: string, field: string, type = 'string'): JsonObject {
  const requestedSchema = { type: 'object', properties: { [field]: { type } }, required: [field] };
  return { method: 'elicitation/create', params: { message, requestedSchema } };
}

const sample = (said: string) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: said } }], maxTokens: 100 },
});
const askRoots = { method: 'roots/list', params: {} };

export function inputRequired(inputRequests: JsonObject, state?: JsonObject): Result {
  const carried = state === undefined ? {} : { requestState: seal(state) };
  return { resultType: 'input_required', inputRequests, ...carried };
}

/** One field of the form that the person filled in; undefined when there is no such answer. */
export function filledIn(answer: JsonObject | undefined, field: string): string | undefined {
  const content = answer?.['content'] as JsonObject | undefined;
  return typeof content?.[field] === 'string' ? content[field] : undefined;
}

const rootsIn = (answer: JsonObject): number => (Array.isArray(answer['roots']) ? answer['roots'].length : 0);

const ASKING: Record<string, Tool['run']> = {
  elicitation({ answers }) {
    const name = filledIn(answers['user_name'], 'name');
    if (name !== undefined) return text(`Hello, ${name}!`);
    return inputRequired({ user_name: elicit('What is your name?', 'name') });
  },
  sampling({ answers: { sample_request } }) {
    if (sample_request !== undefined) return text(`Sampled: ${filledIn(sample_request, 'text')}`);
    return inputRequired({ sample_request: sample('What is the capital of France?') });
  },
  list_roots({ answers: { roots_request } }) {
    if (roots_request !== undefined) return text(`Found ${rootsIn(roots_request)} root(s)`);
    return inputRequired({ roots_request: askRoots });
  },
  request_state({ answers: { confirm }, state }) {
    if (state !== undefined && confirm !== undefined) return unseal(state) && text('state-ok');
    return inputRequired({ confirm: elicit('Please confirm', 'ok', 'boolean') }, { kind: 'request-state' });
  },
  tampered_state({ answers: { confirm }, state }) {
    if (state !== undefined && unseal(state) && confirm !== undefined) return text('integrity-ok');
    return inputRequired({ confirm: elicit('Please confirm', 'ok', 'boolean') }, { kind: 'tamper-test' });
  },
  multiple_inputs({ answers: { user_name, greeting, client_roots }, state }) {
    if (state !== undefined && user_name && greeting && client_roots) {
      unseal(state);
      return text(
        `${filledIn(greeting, 'text')} ${filledIn(user_name, 'name')}, ${rootsIn(client_roots)} roots`,
      );
    }
    const asked = {
      user_name: elicit('What is your name?', 'name'),
      greeting: sample('Generate a greeting'),
      client_roots: askRoots,
    };
    return inputRequired(asked, { kind: 'multiple-inputs' });
  },
  multi_round({ answers: { step1, step2 }, state }) {
    const { round, name } = state === undefined ? {} : unseal(state);
    if (round === 2 && step2) return text(`${name} likes ${filledIn(step2, 'color')}`);
    if (round === 1 && step1) {
      const next = { round: 2, name: filledIn(step1, 'name') };
      return inputRequired({ step2: elicit('Step 2: What is your favorite color?', 'color') }, next);
    }
    return inputRequired({ step1: elicit('Step 1: What is your name?', 'name') }, { round: 1 });
  },
  capabilities({ answers, capabilities }) {
    if (Object.keys(answers).length > 0) return text(`received ${Object.keys(answers)}`);
    const asked = {
      ...(capabilities['elicitation'] ? { elicit_input: elicit('Elicitation input', 'value') } : {}),
      ...(capabilities['sampling'] ? { sample_input: sample('Sample request') } : {}),
    };
    if (Object.keys(asked).length === 0) return text('No supported capabilities declared');
    return inputRequired(asked, { kind: 'capabilities-test' });
  },
};

const asking = Object.entries(ASKING).map(([name, run]): [string, Tool] => [
  `test_input_required_result_${name}`,
  tool('Asks the client in its result', run),
]);

export const TOOLS: Record<string, Tool> = { ...PLAIN, ...Object.fromEntries(asking) };
