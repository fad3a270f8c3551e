// The calls that solve BFCL's tasks of several turns. Those of its file system are what a coding agent does in a shell or with its
// own tools for files; all others come as tools of an MCP server.

import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { fileOf, pythonOf } from './cache.ts';
import { bash, type Call, mcp, PROJECT, read, write } from './scene.ts';

interface Made {
  tool: string;
  bare: (string | number | boolean)[];
  named: JsonObject;
}

export interface BfclTask {
  name: string;
  files: Call[];
  others: Call[];
}

export function bfclTasks(): BfclTask[] {
  const script = path.join(import.meta.dirname, 'bfcl.py');
  const data = fileOf('bfcl-eval', 'bfcl_eval/data/possible_answer/BFCL_v4_multi_turn_base.json');
  const { status, stdout, stderr } = spawnSync(pythonOf('bfcl-eval'), ['-B', script, data], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`BFCL's calls could not be read: ${stderr.trim().split('\n').at(-1)}`);
  const tasks = stdout.trim().split('\n');
  return tasks.map(line => taskOf(JSON.parse(line) as { name: string; calls: Made[] }));
}

function taskOf({ name, calls }: { name: string; calls: Made[] }): BfclTask {
  const task: BfclTask = { name, files: [], others: [] };
  for (const { tool, bare, named } of calls) {
    const own = FILES[tool]?.([...bare, ...Object.values(named)].map(String));
    if (own === undefined)
      task.others.push(mcp('bfcl', tool, { ...named, ...(bare.length > 0 && { bare }) }));
    else task.files.push(own);
  }
  return task;
}

const quote = (word: string): string =>
  /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
const run = (program: string, ...words: string[]): Call => bash([program, ...words.map(quote)].join(' '));

/** Their values stand in the order of their names in the data. */
const FILES: Record<string, (values: string[]) => Call> = {
  cat: ([file = '']) => read(file),
  cd: ([folder = PROJECT]) => run('cd', folder),
  cp: ([from = '', to = '']) => run('cp', from, to),
  diff: ([one = '', two = '']) => run('diff', one, two),
  du: () => run('du', '-h'),
  echo: ([text = '', file]) => (file === undefined ? run('echo', text) : write(file, text)),
  find: ([folder = '.', name = '*']) => run('find', folder, '-name', name),
  grep: ([file = '', pattern = '']) => run('grep', pattern, file),
  ls: ([all]) => (all === undefined ? run('ls') : run('ls', '-a')),
  mkdir: ([folder = '']) => run('mkdir', folder),
  mv: ([from = '', to = '']) => run('mv', from, to),
  pwd: () => run('pwd'),
  rm: ([file = '']) => run('rm', file),
  rmdir: ([folder = '']) => run('rmdir', folder),
  sort: ([file = '']) => run('sort', file),
  tail: ([file = '', lines = '10']) => run('tail', '-n', lines, file),
  touch: ([file = '']) => run('touch', file),
  wc: ([file = '', mode = 'l']) => run('wc', `-${mode}`, file),
};
