// One style for all commands, escapes and colours where they belong, completion that shells accept, and how
// long a start takes.

import { afterAll, describe, expect, test } from 'bun:test';
import { run } from '../../src/cli/program.ts';
import { need } from '../support/need.ts';
import { onPath } from '../support/service.ts';
import { captured } from './captured.ts';
import { Shell } from './shell.ts';

const shell = new Shell();
afterAll(() => shell.close());

async function help(...words: string[]): Promise<string> {
  const io = captured(shell.folder);
  await run([...words, '--help'], io);
  expect([words, io.code, io.err]).toEqual([words, 0, '']);
  return io.out;
}

/** The names under a help text's headings, `help` aside. */
function commandsIn(text: string): string[] {
  const below = text.slice(text.indexOf('\n\nOptions:'));
  return [...below.matchAll(/^ {2}([a-z][a-z-]*)(?: \[options\].*?)?(?: <.*?>)? {2,}\S/gm)]
    .map(found => found[1] as string)
    .filter(name => name !== 'help');
}

test('every help text has examples, and every command takes --json but those that print no data', async () => {
  const without = ['serve', 'completion', 'hook'];
  const seen: string[] = [];
  for (const name of commandsIn(await help())) {
    const text = await help(name);
    const below = text.includes('<command> [options]') ? commandsIn(text) : [];
    for (const path of below.length === 0 ? [[name]] : below.map(each => [name, each])) {
      const leaf = await help(...path);
      expect([path, /^Examples:\n {2}\$ \S/m.test(leaf)]).toEqual([path, true]);
      expect([path, leaf.includes('--json')]).toEqual([path, !without.includes(name)]);
      seen.push(path.join(' '));
    }
    expect(text).toContain('Examples:\n  $ ');
  }
  expect(seen.length).toBe(94);
});

describe('names from outside', () => {
  const hostile = 'a\u001b[31mb\u202ec';
  const shown = 'a\\u{001B}[31mb\\u{202E}c';

  test('are written out in text', async () => {
    shell.file('p.json', JSON.stringify({ name: hostile, rules: [{ tool: 'x\u202e', action: 'allow' }] }));
    const { stdout } = await shell.run('toolgate simulate p.json nothing');
    expect(stdout).toContain(shown);
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
  });

  test('are escaped in JSON, and read back unchanged', async () => {
    shell.file('p.json', JSON.stringify({ name: hostile, rules: [] }));
    const { stdout } = await shell.run('toolgate simulate p.json nothing --json');
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
    expect(JSON.parse(stdout).reason).toContain(hostile);
  });
});

describe('colours', () => {
  const command = 'toolgate simulate p.json x';
  const there = need(onPath('script'), 'script (util-linux), to have a terminal');

  test('are not for pipes', async () => {
    shell.file('p.json', '[]');
    expect((await shell.run(command)).stdout).not.toContain('\u001b');
  });

  test.skipIf(!there)('are for terminals, unless NO_COLOR is set', async () => {
    shell.file('p.json', '[]');
    const terminal = `script -qec '${command}' /dev/null`;
    const env = { TERM: 'xterm-256color' };
    expect((await shell.run(terminal, env)).stdout).toContain('\u001b[31mdeny');
    expect((await shell.run(terminal, { ...env, NO_COLOR: '1' })).stdout).not.toContain('\u001b[31m');
  });
});

describe('completion', () => {
  test('offers what comes next in bash', async () => {
    const words = async (...line: string[]) => {
      const list = line.map(word => `'${word}'`).join(' ');
      const script = `source <(toolgate completion bash); COMP_WORDS=(toolgate ${list}); COMP_CWORD=${line.length};
        _toolgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
      shell.file('complete.sh', script);
      return (await shell.run('bash complete.sh')).stdout.trim().split('\n');
    };
    expect(await words('ch')).toEqual(['check', 'changes']);
    expect(await words('keys', 'cre')).toEqual(['create']);
    expect(await words('keys', 'create', '--po')).toEqual(['--policy']);
    expect(await words('lint', '--strict', '--js')).toEqual(['--json']);
    expect(await words('connect', 'cl')).toEqual(['claude-code', 'claude-desktop']);
    expect(await words('hook', '--pe')).toEqual(['--pending']);
  });

  for (const name of ['zsh', 'fish']) {
    test.skipIf(!need(onPath(name), name))(`is a script that ${name} accepts`, async () => {
      shell.file('complete', (await shell.run(`toolgate completion ${name}`)).stdout);
      expect(await shell.run(`${name} -n complete`)).toMatchObject({ stderr: '', code: 0 });
    });
  }
});

test('how long offline commands take to start (printed, not asserted)', async () => {
  shell.file('p.json', '[]');
  for (const command of ['--help', 'lint p.json', 'simulate p.json x', 'completion bash']) {
    const times: number[] = [];
    for (let round = 0; round < 3; round++) {
      const start = performance.now();
      expect((await shell.run(`toolgate ${command}`)).code).toBe(0);
      times.push(Math.round(performance.now() - start));
    }
    console.info(`toolgate ${command}: ${Math.min(...times)} ms`);
  }
});
