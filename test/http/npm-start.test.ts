// npm start, by the real npm: a signal to npm reaches the service, which stops as it would by itself. A shell in
// between would end at the signal and leave the service running without a parent.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { newDataDir, until } from '../support/faults.ts';
import { need } from '../support/need.ts';
import { collect, onPath, ROOT } from '../support/service.ts';

const NPM = need(onPath('npm'), 'npm');

/** The processes below one; none where the system does not tell. */
function below(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  const children = existsSync(file) ? readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number) : [];
  return children.flatMap(child => [child, ...below(child)]);
}

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test.skipIf(!NPM)(`${signal} to npm start stops the service`, async () => {
    const dataDir = newDataDir();
    const env = { ...process.env, TOOLGATE_DATA_DIR: dataDir, TOOLGATE_PORT: '0' };
    const npm = Bun.spawn(['npm', 'start'], { cwd: ROOT, env, stdout: 'pipe', stderr: 'pipe' });
    const output = { text: '' };
    collect(npm.stdout, output);
    collect(npm.stderr, output);
    await until('the service serves', () => {
      if (npm.exitCode !== null) throw new Error(`npm ended: ${output.text}`);
      return /serves on/.test(output.text);
    });
    const url = /serves on (\S+)/.exec(output.text)?.[1] ?? '';
    await until('it says where to go on', () => output.text.includes('Command line, in other terminals'));
    expect(output.text).toContain(`Dashboard: ${url}/dashboard`);
    const { port } = new URL(url);
    expect(output.text).toContain(
      `export PATH="${ROOT}/bin:$PATH" TOOLGATE_DATA_DIR="${dataDir}" TOOLGATE_PORT=${port}\n`,
    );
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const all = below(npm.pid);
    try {
      npm.kill(signal);
      await npm.exited;
      await until('the service said that it stopped', () => output.text.includes('"stopped"'), 20_000);
      expect(await fetch(`${url}/healthz`).catch(() => 'nobody listens')).toBe('nobody listens');
    } finally {
      for (const pid of all.filter(runs)) process.kill(pid, 'SIGKILL');
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
}
