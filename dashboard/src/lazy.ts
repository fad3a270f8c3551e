// A component, such as a page, that is loaded when it is first shown; if that fails, it says so, and is loaded once the
// service answers.

import type { ComponentType, FunctionComponent } from 'preact';
import { lazy as lazily } from 'preact-iso';
import { unloaded } from './components/boundary.tsx';

export function lazy<Props>(load: () => Promise<ComponentType<Props>>): FunctionComponent<Props> {
  const component = lazily(() => load().catch(() => unloaded(load)));
  return component as FunctionComponent<Props>;
}
