// How an agent takes a hook that fails: the settings that `connect` wrote, with a program of ours in place of Toolgate that
// ends or hangs as the test wants, and a shorter time limit.

import { expect } from 'bun:test';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Page, said } from './page.ts';
import type { Tools } from './scenario.ts';
import type { Workplace } from './workplace.ts';

/** How the program ends, by the words of docs/agents.md: with a code, never, or not at all because it is not there. */
const ENDS = {
  'the hook exits with 1, silently': 'exit 1',
  'the hook exits with 2, silently': 'exit 2',
  'the hook is killed': 'kill -9 $$',
  'the hook exits with 0, silently': 'exit 0',
  'the hook exits with 0, and says what is no verdict': 'echo hello',
  // It holds none of the pipes by which the agent would wait for it.
  'the hook hangs': 'echo $$ >"$0.pid"; exec sleep 600 >/dev/null 2>&1 </dev/null',
  'the program is missing': '',
};

export interface Broken {
  /** The file with the hook, and a second in its unit of time. */
  file: string;
  second: number;
  /** What has to be done after the file was changed. */
  changed?(place: Workplace): Promise<void>;
}

/** Compares, for each way to end, whether the agent makes the call with what the page says. */
export async function testBrokenHook(
  place: Workplace,
  tools: Tools,
  { file, second, changed = async () => {} }: Broken,
  page: Page,
): Promise<void> {
  const settings = place.read(file);
  const program = join(place.home, 'broken');
  place.write('broken', `#!/bin/sh\n. ${place.home}/end\n`);
  chmodSync(program, 0o755);
  const broken = settings
    .replace(/("command": ")\S+( hook )/, `$1${program}$2`)
    .replace(/("timeout": )\d+/, `$1${second}`);
  expect(broken).toContain(program);
  place.write(file, broken);
  await changed(place);
  const run = place.start();
  for (const [end, script] of Object.entries(ENDS)) {
    if (script === '') rmSync(program);
    place.write('end', `${script}\n`);
    const path = `made-${crypto.randomUUID()}`;
    await run.made(tools.shell(`touch ${path}`));
    expect([end, said(place.has(`projects/app/${path}`))]).toEqual([end, page(end)]);
  }
  await run.finish();
  endIfThere(Number(place.read('broken.pid')));
  place.write(file, settings);
  await changed(place);
}

/** Some agents end the shell of a hook that takes too long, and not what it has started. */
function endIfThere(pid: number): void {
  try {
    process.kill(pid);
  } catch {}
}
