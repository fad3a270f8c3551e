// The vendors' published events, and what each agent has to be told about them, without a service.

import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentCall } from '../../src/core/agents/acts.ts';
import { AGENTS } from '../../src/core/agents.ts';
import { GuardError } from '../../src/core/errors.ts';
import { isObject, type Json, type JsonObject } from '../../src/core/wire/json.ts';
import { type AgentAnswer, blocked, type Output, output } from '../../src/http/hooks/agent.ts';
import { type Agent, BY_COMMAND, type HttpAgent, OVER_HTTP } from '../../src/http/hooks/agents.ts';

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
        for (const decision of ['allow', 'deny', ...(agent.ways?.(event) ?? [])])
          expect(agent.speak(told(decision), event)).toMatchObject({ exitCode: expect.any(Number) });
        expect(JSON.stringify((agent.refuse ?? blocked)(REASON, event))).toContain(REASON);
      }
      expect(JSON.stringify((agent.refuse ?? blocked)(REASON, null))).toContain(REASON);
    });
  });
}

function expectVector(agent: Agent, { event, call, ways, http, command, refusal, nothing }: Vector): void {
  expect(askedOf(agent, event)).toEqual(call);
  if (call === null) expect(output(AGENTS[agent.name].nothing ?? '')).toEqual(nothing as Output);
  if (refusal !== undefined) expectRefusal(agent, event, refusal);
  if (call === null || call === 'refused') return;
  expect([...(agent.ways?.(event) ?? [])]).toEqual((ways ?? []) as never[]);
  expect(Object.keys(command ?? {})).toEqual(['allow', 'deny', ...(ways ?? [])]);
  for (const [decision, expected] of Object.entries(command ?? {}))
    expect(agent.speak(told(decision), event)).toEqual(expected);
  for (const [decision, expected] of Object.entries(http ?? {}))
    expect(answerOf(agent, told(decision), event)).toEqual(expected);
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
  if (refusal.http !== undefined) expect(answerOf(agent, told('deny'), event)).toEqual(refusal.http);
}

const told = (decision: string): AgentAnswer => ({
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

function answerOf({ name }: Agent, said: AgentAnswer, event: JsonObject): JsonObject {
  const agent = OVER_HTTP.find(each => each.name === name) as HttpAgent;
  return agent.answer(said, event);
}
