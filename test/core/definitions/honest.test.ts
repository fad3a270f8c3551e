// How many definitions of real servers have findings. What was collected is described in test/vectors/definitions.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FINDING_KINDS, type FindingKind, HOLDING } from '../../../src/core/definitions/finding.ts';
import { findingsOf } from '../../../src/core/definitions/findings.ts';
import { neighboursOf } from '../../../src/core/definitions/neighbours.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';

const FOLDER = join(import.meta.dir, '../../vectors/definitions');

interface Collected {
  server: string;
  count: number;
  tools?: JsonObject[];
}

const SERVERS: Collected[] = new TextDecoder()
  .decode(Bun.gunzipSync(readFileSync(join(FOLDER, 'honest.jsonl.gz'))))
  .trim()
  .split('\n')
  .map(line => JSON.parse(line));
const HONEST = SERVERS.filter(each => each.tools !== undefined);

/** How many of the honest tools have findings of a kind, when all servers but their own are beside them. */
function counted(): { tools: number; of: Record<FindingKind | 'held', number> } {
  const of = Object.fromEntries([...FINDING_KINDS, 'held'].map(kind => [kind, 0])) as Record<
    FindingKind | 'held',
    number
  >;
  let tools = 0;
  for (const { server, tools: own = [] } of HONEST) {
    const others = HONEST.filter(each => each.server !== server);
    const neighbours = neighboursOf(
      others.map(each => ({
        serverName: shortName(each.server),
        toolNames: (each.tools ?? []).map(tool => String(tool['name'])),
      })),
    );
    for (const definition of own) {
      tools++;
      const kinds = new Set(findingsOf(definition, neighbours).map(each => each.kind));
      for (const kind of kinds) of[kind]++;
      if (HOLDING.some(kind => kinds.has(kind))) of.held++;
    }
  }
  return { tools, of };
}

/** The name that somebody would give the server: `@a/server-github` is github. */
const shortName = (name: string) =>
  name
    .replace(/^@[^/]*\//, '')
    .replace(/mcp|server|-/g, ' ')
    .trim()
    .replace(/\s+/g, '-') || name;

test('of the honest definitions, at most two in a hundred are held for what is found in them', () => {
  const { tools, of } = counted();
  console.log(`${tools} honest definitions of ${HONEST.length} servers:`, of);
  expect(tools).toBeGreaterThan(450);
  expect(of.held / tools).toBeLessThanOrEqual(0.02);
});
