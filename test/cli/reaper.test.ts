// The service as the first process of a container, without an init: what commands leave behind does not pile up.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir, until } from '../support/faults.ts';
import { connect, LegacyClient, startWithStdio, stdioScript, text } from '../support/mcp.ts';
import { need } from '../support/need.ts';

const UNSHARE = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'];
const works =
  process.platform === 'linux' && Bun.spawnSync([...UNSHARE, 'true'], { stderr: 'ignore' }).exitCode === 0;

interface Status {
  pid: number;
  state: string;
  parent: number;
}

function processes(): Status[] {
  return readdirSync('/proc').flatMap(name => {
    try {
      const stat = readFileSync(`/proc/${Number(name)}/stat`, 'utf8');
      const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [{ pid: Number(name), state, parent: Number(parent) }];
    } catch {
      return [];
    }
  });
}

test.skipIf(!need(works, 'namespaces of users and processes, for a service with PID 1'))(
  'zombies of commands are ended, and the runtime still learns how commands end',
  async () => {
    const journal = join(newDataDir(), 'journal');
    const { service, end } = await startWithStdio({ forks: stdioScript('fork', journal) }, { wrap: UNSHARE });
    const first = processes().find(({ parent }) => parent === service.process.pid)?.pid;
    const childrenOf = (state: RegExp) =>
      processes().filter(each => each.parent === first && state.test(each.state)).length;
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    const id = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'forks' });
    const client = await LegacyClient.open(service, key);
    for (let times = 0; times < 3; times++) {
      await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
      expect(text(await client.call('cmd__echo', { how: 'exit' }))).toContain('exit code 3');
    }
    // Each command was watched by a process, and had started one.
    expect(readFileSync(journal, 'utf8').match(/^fork /gm)).toHaveLength(3);
    await until('all have ended, and nobody is a zombie', () => childrenOf(/./) === 0);
    await service.kill('SIGKILL');
    await end();
  },
  60_000,
);
