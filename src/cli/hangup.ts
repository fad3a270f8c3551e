// What SIGHUP means to `serve`: read the server file again. The system also sends it when a terminal is closed; the service
// then stops, as every program does that runs in a terminal.

import { closeSync, openSync } from 'node:fs';
import type { IO } from './io.ts';

export interface AtHangup {
  stop: () => void;
  reload: () => void;
}

export function onHangup(io: IO, at: AtHangup): void {
  const inTerminal = io.stdin.isTTY || io.stdout.isTTY || io.stderr.isTTY;
  process.on('SIGHUP', () => (inTerminal && !isTerminalOpen() ? at.stop() : at.reload()));
}

function isTerminalOpen(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r+'));
    return true;
  } catch {
    return false;
  }
}
