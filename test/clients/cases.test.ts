// The shared decision cases through both clients: the same verdicts, word for word, that the service itself
// is tested for.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Toolgate } from '../../clients/typescript/src/index.ts';
import { Callers, type Case, type CaseFile, caseTitle, liveCaseFiles } from '../support/cases.ts';
import { need } from '../support/need.ts';
import { onPath, ROOT, startService, type TestService } from '../support/service.ts';

const FILES = liveCaseFiles();
const hasPython = need(onPath('python3'), 'python3 (for the Python client)');

let service: TestService;
const callers = new Map<CaseFile, Callers>();
beforeAll(async () => {
  service = await startService();
  for (const file of FILES) callers.set(file, new Callers(service, file));
});
afterAll(() => service.close());

const keyFor = async (file: CaseFile, call: Case): Promise<string> =>
  (await (callers.get(file) as Callers).for(call)).token;

function expectWanted(call: Case, verdict: { decision?: string; reason?: string } | undefined): void {
  const what = caseTitle(call);
  expect([what, verdict?.decision]).toEqual([what, call.want.decision]);
  if (call.want.reason !== undefined) expect(verdict?.reason).toBe(call.want.reason);
}

describe('through the TypeScript client', () => {
  for (const file of FILES) {
    test(file.file, async () => {
      for (const call of file.calls) {
        const gate = new Toolgate({ key: await keyFor(file, call), baseUrl: service.url });
        expectWanted(call, await gate.check(call.server, call.tool, call.args));
        const proceeds = await gate.guard(call.server, call.tool, call.args).then(
          () => true,
          () => false,
        );
        expect(proceeds).toBe(call.want.decision === 'allow');
      }
    });
  }
});

describe.if(hasPython)('through the Python client', () => {
  // One process asks for all files.
  let verdicts: Verdicts;
  beforeAll(async () => {
    const work = FILES.flatMap(file =>
      file.calls.map(async call => {
        const { server, tool, args } = call;
        return { server, tool, args, key: await keyFor(file, call), baseUrl: service.url };
      }),
    );
    verdicts = await inPython(await Promise.all(work));
  });

  let before = 0;
  for (const file of FILES) {
    const from = before;
    before += file.calls.length;
    test(file.file, () => {
      for (const kind of ['sync', 'async'] as const) {
        file.calls.forEach((call, index) => {
          expectWanted(call, verdicts[kind][from + index]);
        });
      }
    });
  }
});

type Verdicts = Record<'sync' | 'async', { decision: string; reason: string }[]>;

async function inPython(work: object[]): Promise<Verdicts> {
  const child = Bun.spawn(['python3', '-m', 'tests.run_cases'], {
    cwd: join(ROOT, 'clients/python'),
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', PYTHONDONTWRITEBYTECODE: '1' },
    stdin: new Blob([JSON.stringify(work)]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [answer, said] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect(await child.exited, said).toBe(0);
  return JSON.parse(answer);
}
