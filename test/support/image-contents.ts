/** The files of the image `bailiff` that Compose and the chart call by name; it has no shell and no other program. */
export const FILES_OF_IMAGE = [
  "/usr/local/bin/bailiff",
  "/usr/local/bin/node",
  "/opt/bailiff/images/init/build/bailiff-init",
  "/opt/bailiff/healthcheck.mjs",
  "/opt/bailiff/prepare.mjs",
] as const;

/** The one directory of its PATH. */
export const PATH_OF_IMAGE = "/usr/local/bin";
