// The dashboard's files. dashboard-build.ts builds them at the first request, so that the start does not take longer.
// They are kept in memory and never written to a disk.

import { buildDashboard, type Dashboard } from './dashboard-build.ts';

let known: Promise<Dashboard> | null = null;

export function dashboard(): Promise<Dashboard> {
  known ??= buildDashboard().catch(error => {
    // The next request tries again.
    known = null;
    throw error;
  });
  return known;
}
