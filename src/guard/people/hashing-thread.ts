// The thread that hashes passwords and compares them with their hashes, one after another. Its work is slow on
// purpose, so it gives way to whatever else the machine has to do. It is loaded as text (store/thread.ts), so it
// imports nothing of ours.

import { setPriority } from 'node:os';

interface Order {
  password: string;
  /** To compare with; null: to be made. */
  hash: string | null;
  cost: { algorithm: 'argon2id'; memoryCost: number; timeCost: number };
}

declare const self: { onmessage: (order: { data: Order }) => void };

const GIVE_WAY = 10;

try {
  // On Linux this is the calling thread alone.
  if (process.platform === 'linux') setPriority(0, GIVE_WAY);
} catch {
  // A system that does not let a thread give way hashes as it is.
}

self.onmessage = ({ data: { password, hash, cost } }) => {
  try {
    const { hashSync, verifySync } = Bun.password;
    postMessage({ result: hash === null ? hashSync(password, cost) : verifySync(password, hash) });
  } catch (error) {
    postMessage({ refusal: { message: (error as Error).message, code: null } });
  }
};
