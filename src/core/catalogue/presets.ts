// The catalogue: well-known tool servers for which there is a pack, to be registered by name.

import { AS_COMMANDS } from './as-commands.ts';
import { ON_THE_NETWORK } from './on-the-network.ts';
import type { Preset } from './preset.ts';

export const PRESETS: readonly Preset[] = [...ON_THE_NETWORK, ...AS_COMMANDS].sort((a, b) =>
  a.name < b.name ? -1 : 1,
);
