// An IO whose output is kept, for running commands inside the test's own process.

import { join } from 'node:path';
import type { IO, Output } from '../../src/cli/io.ts';

export interface Captured extends IO {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
}

export function captured(cwd: string, env: Record<string, string> = {}, stdin = ''): Captured {
  const kept = { out: '', err: '', code: null as number | null };
  const output = (stream: 'out' | 'err'): Output => ({
    isTTY: false,
    write: text => {
      kept[stream] += text;
    },
    send: async chunk => {
      kept[stream] += new TextDecoder().decode(chunk);
      return true;
    },
    style: (_, text) => text,
  });
  return Object.assign(kept, {
    stdout: output('out'),
    stderr: output('err'),
    stdin: { isTTY: false, text: async () => stdin, line: async () => stdin },
    env,
    cwd,
    root: join(cwd, 'no-such-machine'),
    exit: (code: number) => {
      kept.code = code;
    },
    interrupted: () => new AbortController().signal,
  });
}
