// The thread that moves pages of SQLite's write-ahead log into the file. It receives the path of the file, and answers once
// the pages that it could move are on the disk. It is loaded as text (thread.ts), so it imports nothing of ours.

import { Database } from 'bun:sqlite';

declare const self: { onmessage: (order: { data: string }) => void };

self.onmessage = ({ data: path }) => {
  try {
    move(path);
    postMessage({ result: null });
  } catch (error) {
    const { message, code = null } = error as Error & { code?: string };
    postMessage({ refusal: { message, code } });
  }
};

/** The handle is open only meanwhile: while it is, SQLite would not remove the log when the store is closed. */
function move(path: string): void {
  const db = new Database(path, { readwrite: true });
  try {
    // SQLite then syncs the log before it copies pages from it, and the file afterwards.
    db.exec('PRAGMA synchronous = NORMAL');
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } finally {
    db.close();
  }
}
