// The port on which the service listens unless its settings name another, and on which commands look for it. `toolgate
// hook` loads this file before every call, so it imports nothing.

export const DEFAULT_PORT = 8787;
