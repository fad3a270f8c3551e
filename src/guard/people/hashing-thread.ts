// The thread that hashes passwords and compares them with their hashes, one after another. Its work is slow on purpose,
// so it runs at a low priority. It is loaded as text (store/engine/thread.ts), so it must not import any file of this project.

import { setPriority } from 'node:os';

interface Order {
  password: string;
  /** The hash to compare with; null: make a new hash. */
  hash: string | null;
  cost: { algorithm: 'argon2id'; memoryCost: number; timeCost: number };
}

declare const self: { onmessage: (order: { data: Order }) => void };

const GIVE_WAY = 10;

try {
  // On Linux this sets the priority of the calling thread only.
  if (process.platform === 'linux') setPriority(0, GIVE_WAY);
} catch {
  // If the system does not allow this, the thread keeps its priority.
}

self.onmessage = ({ data: { password, hash, cost } }) => {
  try {
    const { hashSync, verifySync } = Bun.password;
    postMessage({ result: hash === null ? hashSync(password, cost) : verifySync(password, hash) });
  } catch (error) {
    postMessage({ refusal: { message: (error as Error).message, code: null } });
  }
};
