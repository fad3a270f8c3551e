// A page that is loaded when it is first shown; if that fails, it says so, and is loaded once the service answers.

import type { FunctionComponent } from 'preact';
import { lazy as lazily } from 'preact-iso';
import { type Load, unloaded } from './components/boundary.tsx';

export function lazy(load: Load): FunctionComponent {
  return lazily(() => load().catch(() => ({ default: unloaded(load) })));
}
