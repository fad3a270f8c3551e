// The thread that syncs a file. It receives the descriptor of an open file and answers once the disk has its data. It
// is loaded as text (thread.ts), so it imports nothing of ours.

import { fdatasyncSync } from 'node:fs';

declare const self: { onmessage: (order: { data: number }) => void };

self.onmessage = ({ data: file }) => {
  try {
    fdatasyncSync(file);
    postMessage({ result: null });
  } catch (error) {
    const { message, code = null } = error as NodeJS.ErrnoException;
    postMessage({ refusal: { message, code } });
  }
};
