// The dashboard's files, had from dashboard-build.ts when somebody first asks for them, so that starting costs
// nothing. They live in memory and are never written.

import { buildDashboard } from './dashboard-build.ts';

export interface Asset {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
  gzipped: Uint8Array<ArrayBuffer>;
}

export interface Dashboard {
  /** Names of the files that the page itself asks for. */
  script: string;
  style: string;
  /** By name; a name carries the hash of what is in it. */
  assets: Map<string, Asset>;
}

let known: Promise<Dashboard> | null = null;

export function dashboard(): Promise<Dashboard> {
  known ??= buildDashboard().catch(error => {
    // The next request tries again.
    known = null;
    throw error;
  });
  return known;
}
