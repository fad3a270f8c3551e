// Cerbos, asked by HTTP whether a principal may do an action on a resource. The action is the name of the tool, because
// Cerbos finds actions in a table, where a condition would have to be computed. Its decision log is a file with a line of
// JSON for each decision.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { freePort, onCore } from '../process.ts';
import { ARGUMENTS, type Place, start } from '../service.ts';
import type { Running, Subject } from '../subjects.ts';
import { executableOf } from './programs.ts';
import { ALLOWED, checkAnswers, JSON_HEADERS, post, RULES } from './rules.ts';

export async function openCerbos(subject: Subject, logs: boolean, place: Place): Promise<Running> {
  const folder = path.join(place.folder, subject.name);
  const policies = path.join(folder, 'policies');
  fs.mkdirSync(policies, { recursive: true });
  fs.writeFileSync(path.join(policies, 'tool.json'), JSON.stringify(policy()));
  const port = freePort();
  const config = path.join(folder, 'config.json');
  fs.writeFileSync(config, JSON.stringify(configuration(folder, policies, port, logs)));
  const command = [executableOf('cerbos'), 'server', `--config=${config}`, '--log-level=error'];
  const server = await start(subject.name, onCore(0, command), {}, place, {
    port,
    health: '/_cerbos/health',
  });
  const url = `${server.url}/api/check/resources`;
  return {
    subject,
    server,
    request: { url, headers: JSON_HEADERS, body: body(ALLOWED) },
    check: () => checkAnswers(tool => post(url, body(tool)), 'EFFECT_ALLOW'),
    databaseMicroseconds: () => null,
  };
}

function configuration(folder: string, policies: string, port: number, logs: boolean): object {
  return {
    server: { httpListenAddr: `127.0.0.1:${port}`, grpcListenAddr: `127.0.0.1:${freePort()}` },
    storage: { driver: 'disk', disk: { directory: policies, watchForChanges: false } },
    telemetry: { disabled: true },
    audit: {
      enabled: logs,
      backend: 'file',
      accessLogsEnabled: false,
      decisionLogsEnabled: true,
      file: { path: path.join(folder, 'decisions.log') },
    },
  };
}

const body = (tool: string): string =>
  JSON.stringify({
    principal: { id: 'bench', roles: ['agent'] },
    resources: [{ resource: { kind: 'tool', id: 'bench', attr: ARGUMENTS }, actions: [tool] }],
  });

function policy(): object {
  const rules = RULES.map(({ tool, action }) => ({
    actions: [tool],
    effect: action === 'allow' ? 'EFFECT_ALLOW' : 'EFFECT_DENY',
    roles: ['agent'],
  }));
  return {
    apiVersion: 'api.cerbos.dev/v1',
    resourcePolicy: { resource: 'tool', version: 'default', rules },
  };
}
