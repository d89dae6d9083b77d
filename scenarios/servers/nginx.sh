#!/bin/sh
# Serves one file with nginx, for the setting `start` of a scenario. nginx stays in the foreground.
#
#   start: exec sh scenarios/servers/nginx.sh 1GiB         # the file is at served/file.bin
#
# The file consists of zeros and takes no space on the disk. The script uses one directory per user, because a study kills its
# servers, so a new directory would remain after each study.
set -eu
size=${1:?name the size of the file, e.g. 1GiB}
directory=${TMPDIR:-/tmp}/plimsoll-nginx-$(id -u)
mkdir -p "$directory"
chmod 755 "$directory"
# The program `truncate` has the unit GiB as G.
truncate -s "$(printf %s "$size" | sed 's/iB$//')" "$directory/file.bin"
if [ "$(id -u)" = 0 ]; then user='user root;'; else user=; fi
cat >"$directory/nginx.conf" <<END
$user
daemon off;
worker_processes auto;
worker_rlimit_nofile 16384;
pid $directory/nginx.pid;
error_log stderr;
events { worker_connections 8192; }
http {
    access_log off;
    sendfile on;
    send_timeout 30m;
    client_body_temp_path $directory/body;
    proxy_temp_path $directory/proxy;
    fastcgi_temp_path $directory/fastcgi;
    scgi_temp_path $directory/scgi;
    uwsgi_temp_path $directory/uwsgi;
    server {
        listen $PLIMSOLL_LISTEN backlog=4096;
        root $directory;
        location /nginx.conf { return 404; }
    }
}
END
PATH=$PATH:/usr/sbin
exec nginx -c "$directory/nginx.conf" -e stderr
