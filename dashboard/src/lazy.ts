// A page that is loaded when it is first shown; if that fails, it says so.

import type { FunctionComponent } from 'preact';
import { lazy as lazily } from 'preact-iso';
import { Unloaded } from './components/boundary.tsx';

export function lazy(load: () => Promise<{ default: FunctionComponent }>): FunctionComponent {
  return lazily(() => load().catch(() => ({ default: Unloaded })));
}
