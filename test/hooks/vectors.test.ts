// The vendors' published events, and what each agent has to be told about them, without a service.

import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentCall } from '../../src/core/agents/acts.ts';
import { AGENTS } from '../../src/core/agents.ts';
import { GuardError } from '../../src/core/errors.ts';
import { isObject, type Json, type JsonObject } from '../../src/core/wire/json.ts';
import { type AgentAnswer, blocked, type Output, output } from '../../src/http/hooks/agent.ts';
import { shapeOf } from '../../src/http/hooks/agent-results.ts';
import { resultIn, runNameIn, toldIn, withNames, wordsOfPerson } from '../../src/http/hooks/agent-told.ts';
import { type Agent, BY_COMMAND, type HttpAgent, OVER_HTTP } from '../../src/http/hooks/agents.ts';
import type { DoorCall } from '../../src/http/hooks/door.ts';

const FOLDER = join(import.meta.dir, '../vectors/hooks');
/** Stands for the reason in what is expected. */
const REASON = 'REASON';

interface Vector {
  event: JsonObject;
  /** Null: the event is about no call. */
  call: { serverName: string; toolName: string; args: Json; agent: AgentCall } | null | 'refused';
  ways?: string[];
  http?: Record<string, JsonObject>;
  command?: Record<string, Output>;
  refusal?: { http?: JsonObject; command: Output };
  nothing?: Output;
  /** What the event tells, if it is about no call; a prompt without the words of others. */
  told?: { prompt: string } | { result: Json } | null | 'refused';
  /** The event about the call whose result this one tells. */
  of?: string;
  /** What puts something else in the place of the result; null where the agent's hooks cannot. */
  replaced?: JsonObject | null;
}

for (const agent of BY_COMMAND) {
  describe(agent.name, () => {
    const folder = join(FOLDER, agent.name);

    test('says where its shapes were read', () => {
      expect(existsSync(join(folder, 'source.md'))).toBe(true);
    });

    const files = readdirSync(folder).filter(each => each.endsWith('.json'));
    const vectors = files.map(file => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Vector);
    for (const [index, file] of files.entries())
      test(file, () => expectVector(agent, vectors[index] as Vector));

    test('whatever stands in a field, the event is a call, none, or refused, and the agent is told so', () => {
      const odd = vectors.flatMap(each => [...oddities(each.event)].filter(isObject));
      expect(odd.length).toBeGreaterThan(100);
      for (const event of odd) {
        askedOf(agent, event);
        toldBy(agent, event);
        for (const decision of ['allow', 'deny', ...(agent.ways?.(event) ?? [])])
          expect(agent.speak(answered(decision), event)).toMatchObject({ exitCode: expect.any(Number) });
        expect(JSON.stringify((agent.refuse ?? blocked)(REASON, event))).toContain(REASON);
      }
      expect(JSON.stringify((agent.refuse ?? blocked)(REASON, null))).toContain(REASON);
    });
  });
}

test('the hook takes an answer to a result of exactly those agents for which there is one', () => {
  for (const { name, replace } of BY_COMMAND)
    expect([name, AGENTS[name].replacesResults === true]).toEqual([name, replace !== undefined]);
});

test('docs/agents.md names the events that tell something', () => {
  const page = readFileSync(join(FOLDER, '../../../docs/agents.md'), 'utf8');
  const [, section = ''] = page.split('\n## What agents tell: prompts and results\n');
  const rows =
    section
      .split('\n## ')[0]
      ?.split('\n')
      .filter(line => line.startsWith('| `')) ?? [];
  for (const { name } of BY_COMMAND) {
    const [, agents, prompts, results] = rows.find(row => row.includes(`\`${name}\``))?.split('|') ?? [];
    expect(agents).toContain(name);
    for (const event of AGENTS[name].prompts) expect(prompts).toContain(`\`${event}\``);
    for (const event of AGENTS[name].results) expect(results).toContain(`\`${event}\``);
  }
});

test('the run is the one that the agent names, and no two have one name', () => {
  const ids = [
    'abc-123',
    '~',
    'a'.repeat(128),
    'a'.repeat(129),
    'a b',
    'ü',
    'a\n',
    '\ud800',
    '\ud801',
    'sha256:x',
  ];
  const names = ids.map(id => runNameIn({ session_id: id }));
  expect(names.slice(0, 3)).toEqual(ids.slice(0, 3));
  for (const name of names.slice(3)) expect(name).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(new Set(names).size).toBe(ids.length);
  expect(runNameIn({ session_id: names[3] as string })).not.toBe(names[3] as string);
  for (const event of [{}, { session_id: '' }, { session_id: 7 }, { tool_input: { session_id: 'x' } }])
    expect(runNameIn(event)).toBeUndefined();
});

describe('the words of the person', () => {
  const { prompt } = JSON.parse(readFileSync(join(FOLDER, 'claude-code/prompt.json'), 'utf8')).event;
  const [agent] = BY_COMMAND as [Agent];
  const words = (text: string) => wordsOfPerson(agent, { hook_event_name: 'UserPromptSubmit', prompt: text });

  test.each([
    [prompt, prompt],
    ['a < b and <https://x.example>', 'a < b and <https://x.example>'],
    ['first\n  <system-reminder>x', 'first\n'],
    ['first\n<div class="a">x', 'first\n'],
    ['see <b>x</b>', 'see <b>x</b>'],
    ['\ufeff', '\ufeff'],
    ['', ''],
  ])('%p', (text, expected) => expect(words(text)).toBe(expected));

  test('a long text is cut off after a whole word', () => {
    const long = `${'ö '.repeat(21_000)}${'x'.repeat(4000)} secret`;
    expect(words(long)).toBe('ö '.repeat(21_000).trimEnd());
    expect(words('y'.repeat(70_000))).toBe('');
  });
});

function expectVector(agent: Agent, vector: Vector): void {
  const { event, call, ways, http, command, refusal, nothing, told, of, replaced } = vector;
  expect(askedOf(agent, event)).toEqual(call);
  if (call === null) expect(output(AGENTS[agent.name].nothing ?? '')).toEqual(nothing as Output);
  if (call === null) expect(toldBy(agent, event)).toEqual(told ?? null);
  if (replaced !== undefined) expect(replacedIn(agent, event)).toEqual(replaced);
  if (of !== undefined) expect(resultIn(agent, event)?.name).toBe(nameOfResult(agent, of));
  if (refusal !== undefined) expectRefusal(agent, event, refusal);
  if (call === null || call === 'refused') return;
  expect([...(agent.ways?.(event) ?? [])]).toEqual((ways ?? []) as never[]);
  expect(Object.keys(command ?? {})).toEqual(['allow', 'deny', ...(ways ?? [])]);
  for (const [decision, expected] of Object.entries(command ?? {}))
    expect(agent.speak(answered(decision), event)).toEqual(expected);
  for (const [decision, expected] of Object.entries(http ?? {}))
    expect(answerOf(agent, answered(decision), event)).toEqual(expected);
}

const ODD: Json[] = [
  null,
  true,
  7,
  '',
  'PreToolUse',
  '{',
  'mcp__',
  'mcp____x',
  '__proto__',
  [],
  [[]],
  {},
  { a: null },
];

/** The event with something odd in one place at a time, or without what stands there. */
function* oddities(value: Json): Generator<Json> {
  yield* ODD;
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    const { [name]: part, ...rest } = value;
    yield rest;
    for (const odd of oddities(part as Json)) yield { ...rest, [name]: odd };
  }
}

function expectRefusal(agent: Agent, event: JsonObject, refusal: NonNullable<Vector['refusal']>): void {
  expect((agent.refuse ?? blocked)(REASON, event)).toEqual(refusal.command);
  if (refusal.http !== undefined) expect(answerOf(agent, answered('deny'), event)).toEqual(refusal.http);
}

const answered = (decision: string): AgentAnswer => ({
  decision: decision as AgentAnswer['decision'],
  reason: REASON,
});

function askedOf(agent: Agent, event: JsonObject): Vector['call'] {
  try {
    const asked = agent.readCall(event);
    if (asked === null) return null;
    return { ...asked.call, args: asked.args ?? null, agent: asked.agent as AgentCall };
  } catch (error) {
    if (error instanceof GuardError) return 'refused';
    throw error;
  }
}

function toldBy(agent: Agent, event: JsonObject): NonNullable<Vector['told']> | null {
  try {
    const told = toldIn(agent, event);
    if (told === 'prompt') return { prompt: wordsOfPerson(agent, event) };
    return told === null ? null : { result: resultIn(agent, event)?.said ?? null };
  } catch (error) {
    if (error instanceof GuardError) return 'refused';
    throw error;
  }
}

/** What the agent is answered if this is left of the result. */
function replacedIn(agent: Agent, event: JsonObject): JsonObject | null {
  const shape = shapeOf(agent.readResult?.(event)?.value, false);
  const left = { content: [{ type: 'text', text: 'LEFT' }] };
  return agent.replace?.(event, shape.replacement(left, false)) ?? null;
}

/** The name under which the result of the call in another vector is waited for. */
function nameOfResult(agent: Agent, file: string): string | undefined {
  const { event } = JSON.parse(readFileSync(join(FOLDER, agent.name, file), 'utf8')) as Vector;
  return withNames(agent.name, event, agent.readCall(event) as DoorCall).resultName;
}

function answerOf({ name }: Agent, said: AgentAnswer, event: JsonObject): JsonObject {
  const agent = OVER_HTTP.find(each => each.name === name) as HttpAgent;
  return agent.answer(said, event);
}
