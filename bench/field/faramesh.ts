// Faramesh: a daemon that decides about the tool calls of agents, asked over its Unix socket with a line of JSON for each
// call, and its MCP gateway. Before it answers, it appends the decision to a write-ahead log that it syncs to disk.

import * as fs from 'node:fs';
import { connect } from 'node:net';
import * as path from 'node:path';
import { ID } from '../load.ts';
import { call, HEADERS, openUpstream, resultOf } from '../mcp-subjects.ts';
import { freePort, onCore, type Server } from '../process.ts';
import { ARGUMENTS, type Place, start } from '../service.ts';
import type { Running, Subject } from '../subjects.ts';
import { executableOf } from './programs.ts';
import { ALLOWED, checkAnswers, RULES } from './rules.ts';

/**
 * Version 1.2.9 reads its whole log again for each decision once the log has more than 16 MB, which are some 17,000
 * decisions. No installation would want that, so it is measured with a shorter log: it starts anew before each
 * measurement, which ends before the log is that long.
 */
const MOST_SECONDS = 4;
/** It denies what it could not decide within 50 ms, which happens with 64 connections. */
const MOST_CONNECTIONS = 8;

const PERMIT = '"effect":"PERMIT"';

export async function openFaramesh(subject: Subject, place: Place): Promise<Running> {
  const socket = path.join(place.folder, `${subject.name}.sock`);
  return open(subject, ['--socket', socket], RULES, place, {
    request: { url: `unix:${socket}`, lines: { allow: PERMIT }, headers: {}, body: body(ALLOWED) },
    check: () => checkAnswers(tool => ask(socket, body(tool).replace(ID, '"check"')), PERMIT),
  });
}

export async function openFarameshMcp(subject: Subject, place: Place): Promise<Running> {
  const upstream = new URL(await openUpstream(place));
  const port = freePort();
  const socket = path.join(place.folder, `${subject.name}.sock`);
  const gateway = ['--mcp-proxy-port', String(port), '--mcp-target', upstream.origin, '--socket', socket];
  // The gateway has one upstream, so the names of its tools have no server in them.
  const called = (tool: string) => (tool === ALLOWED ? 'create_issue' : tool);
  const rules = RULES.map(rule => ({ ...rule, tool: called(rule.tool) }));
  const url = `http://127.0.0.1:${port}${upstream.pathname}`;
  // The upstream has one session for all, and the gateway relays its id.
  const headers = { ...HEADERS, 'mcp-session-id': 'bench' };
  return open(subject, gateway, rules, place, {
    request: { url, headers, body: call(called(ALLOWED)) },
    check: () => checkAnswers(tool => resultOf(url, headers, called(tool)), 'Issue 17'),
  });
}

/** A daemon that can be started anew, with an empty log, behind the same socket and ports. */
async function open(
  subject: Subject,
  options: string[],
  rules: typeof RULES,
  place: Place,
  asked: Pick<Running, 'request' | 'check'>,
): Promise<Running> {
  const folder = path.join(place.folder, subject.name);
  const port = freePort();
  const command = onCore(0, [
    ...[
      executableOf('faramesh'),
      'serve',
      '--policy',
      path.join(folder, 'policy.fpl'),
      '--log-level',
      'error',
    ],
    ...['--data-dir', path.join(folder, 'data'), '--proxy-port', String(port), ...options],
  ]);
  const begin = (): Promise<Server> => {
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'policy.fpl'), policy(rules));
    return start(subject.name, command, { HOME: folder }, place, { port, health: '/healthz' });
  };
  const running: Running = {
    subject,
    ...asked,
    server: await begin(),
    atMost: { seconds: MOST_SECONDS, connections: MOST_CONNECTIONS },
    restart: async () => {
      await running.server.stop();
      running.server = await begin();
    },
    databaseMicroseconds: () => null,
  };
  return running;
}

/** Its names have a slash between the server and the tool. */
const named = (tool: string): string => tool.replace('__', '/');

function policy(rules: typeof RULES): string {
  const lines = rules.map(
    ({ tool, action }) => `    ${action === 'allow' ? 'permit' : 'deny'} ${named(tool)}`,
  );
  return `agent bench {\n  default deny\n\n  rules {\n${lines.join('\n')}\n  }\n}\n`;
}

/** It allows each agent 20 calls a second, so the calls are those of many agents: lines.ts puts their names for the id. */
const body = (tool: string): string =>
  `{"type":"govern","agent_id":${ID},"session_id":"bench","tool_id":"${named(tool)}","args":${JSON.stringify(ARGUMENTS)}}`;

function ask(socket: string, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket, () => connection.write(`${line}\n`));
    connection.on('error', reject);
    connection.once('data', answer => {
      connection.destroy();
      resolve(answer.toString());
    });
  });
}
