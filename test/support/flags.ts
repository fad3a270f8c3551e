// How `npm test` has the tests run. Four files at a time on two cores: where one waits, another works. --no-orphans
// has the kernel end whatever a test process has started when that process is gone, however it went.

export const FLAGS = ['--timeout', '300000', '--parallel=4', '--no-isolate', '--no-orphans'];
