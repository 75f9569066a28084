"""Where each program is described. A family is loaded when one of its programs is first asked for."""

from functools import cache
from importlib import import_module

from midwatch.safety.shell.programs.model import Program, Special

FAMILIES: dict[str, str] = {
    # family (a module in `families`): the names it describes, as `PROGRAMS` there has them
    "coreutils_text": (
        "cat tac head tail wc nl cut paste sort uniq comm join tr rev fold fmt expand unexpand column od hexdump hd xxd"
        " strings md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base64 base32 basenc iconv"
    ),
    "hardware": (
        "dmesg lsblk findmnt mountpoint mount swapon losetup lscpu lsmem lspci lsusb lsmod modinfo lshw dmidecode"
        " lsns lslocks lslogins lsfd lsirq sysctl sensors numactl numastat efibootmgr smartctl nvme hdparm fdisk"
        " sfdisk gdisk parted mdadm tune2fs dumpe2fs xfs_info pvs vgs lvs pvdisplay vgdisplay lvdisplay zpool zfs"
        " btrfs umount swapoff modprobe insmod rmmod depmod kexec mkswap mkfs wipefs badblocks fsck e2fsck"
        " resize2fs mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat fstrim dd partprobe cryptsetup hwclock reboot shutdown"
        " halt poweroff init telinit wall lvcreate lvremove lvextend lvreduce lvresize lvchange lvrename vgcreate"
        " vgremove vgextend vgreduce vgchange pvcreate pvremove pvresize pvscan vgscan pvmove sgdisk growpart"
        " xfs_growfs xfs_repair useradd userdel usermod groupadd groupdel groupmod chpasswd chsh chfn"
        " gpasswd vipw"
    ),
    "network": (
        "ip ss netstat ifconfig arp route ping ping6 traceroute traceroute6 tracepath mtr dig delv host nslookup"
        " whois ethtool mii-tool tcpdump nc ncat netcat openssl iptables ip6tables iptables-legacy iptables-nft"
        " iptables-save ip6tables-save nft ufw firewall-cmd ipset conntrack tc bridge nmcli wg chronyc ntpq ipcalc"
        " sipcalc lldpctl lft tcptraceroute iftop nload bmon iptraf-ng ifup ifdown dhclient dhcpcd "
        " wpa_supplicant wg-quick iptables-restore ip6tables-restore arping nmap hping3 socat telnet ftp"
        " tftp sftp scp "
    ),
    "files": (
        "ls dir vdir stat du df file tree readlink realpath basename dirname pathchk nproc arch tty uname whoami"
        " hostid users groups uptime id who w last lastb lastlog date cal ncal hostname dnsdomainname domainname"
        " nisdomainname locale getent getconf which whereis whatis apropos locate plocate mlocate grep egrep fgrep"
        " zgrep zegrep zfgrep bzgrep xzgrep zstdgrep rg diff sdiff colordiff diff3 cmp zcat gzcat bzcat xzcat lzcat"
        " zstdcat lz4cat zdiff zcmp xzdiff bzdiff less more most pg bat batcat cp mv install ln link mkdir mkfifo"
        " mknod touch truncate split csplit rename tee rm rmdir unlink shred wipe srm chmod chown chgrp chattr"
        " setfacl setfattr chcon restorecon setcap lsattr getfacl getfattr getcap seq yes factor numfmt shuf"
        " printenv"
    ),
    "processes": (
        "ps top htop btop atop prtstat crontab free vmstat iostat mpstat nfsiostat cifsiostat sar pidstat lsof"
        " fuser pmap pstree pgrep pidof pwdx slabtop ipcs lsipc iotop iotop-c pkill killall killall5 skill snice"
        " renice ipcrm systemd-run batch tcpkill"
    ),
    "packages": (
        "apt apt-get apt-cache apt-mark apt-config apt-key add-apt-repository apt-add-repository"
        " dpkg-reconfigure debconf-set-selections dpkg dpkg-query dpkg-deb debsums rpm dnf yum microdnf apk pacman"
        " snap flatpak pip pip3 npm gem brew update-alternatives ldconfig emerge portage pkg_add"
        " rpmbuild alien dpkg-divert dpkg-statoverride"
    ),
    "clouds": ("aws gcloud az doctl hcloud"),
    "infrastructure": (
        "promtool amtool logcli nginx openresty apachectl apache2ctl httpd apache2 haproxy caddy mailq postqueue"
        " postconf exim exim4 rabbitmqctl rabbitmq-diagnostics kafka-topics kafka-topics.sh kafka-consumer-groups"
        " kafka-consumer-groups.sh terraform tofu vault bao consul nomad etcdctl ceph "
        " "
        " chef-client salt salt-call"
    ),
    "systemd": "systemctl journalctl",
    "systemd_tools": "loginctl timedatectl hostnamectl localectl resolvectl networkctl systemd-analyze systemd-cgls"
    " systemd-delta systemd-detect-virt systemd-path systemd-id128 systemd-cgtop systemd-resolve coredumpctl busctl"
    " machinectl udevadm",
    "services": "service rc-service invoke-rc.d rc-status chkconfig runlevel supervisorctl monit sv s6-svstat"
    " svstat getenforce sestatus getsebool aa-status apparmor_status auditctl ausearch aureport fail2ban-client atq"
    " lpstat lpq apcaccess pmset",
    "sundries": "blkid lsscsi showmount nfsstat rpcinfo exportfs smbstatus testparm quota repquota multipath"
    " iscsiadm ipmitool nvidia-smi rocm-smi dstat glances nethogs bpytop gotop vnstat nm size readelf objdump expr"
    " bc fd fdfind ag ack man ssh-keygen ssh-add gpg gpg2 mediainfo keytool k9s kustomize stty lsinitramfs lsinitrd"
    " pv tshark gcc g++ cc clang make cmake ninja mvn gradle cargo rustup yarn pnpm bundle composer ant sbt meson",
    "builtins": (
        "echo true false : exit return break continue printf test [ set sleep kill ulimit umask pwd cd pushd popd"
        " dirs type hash help history alias shopt jobs times logname wait shift read unalias getopts fg bg disown"
        " suspend logout mapfile readarray let eval enable bind complete compgen compopt caller fc"
    ),
    "wrappers": (
        "env timeout xargs command exec nice ionice watch nsenter builtin nohup stdbuf setsid time taskset chroot"
        " busybox unbuffer"
    ),
    "shells": (
        "sh bash dash ash zsh ksh mksh fish rbash ssh python python2 python3 python3.8 python3.9 python3.10"
        " python3.11 python3.12 python3.13 python3.14 pypy pypy3 perl ruby irb pry node nodejs deno bun php lua"
        " luajit java javac go rustc dotnet R Rscript julia ghci scala tclsh expect ipython bpython groovy jshell"
        " erl iex clj sbcl guile racket ocaml swift osascript pwsh powershell"
    ),
    "editors": "vim vi nvim view vimdiff rvim nano pico emacs emacsclient ed ex joe mcedit micro",
    "finding": "find",
    "sed": "sed gsed",
    "awk": "awk gawk mawk nawk",
    "json": "jq yq",
    "git": "git",
    "web": "curl wget",
    "archives": (
        "tar gtar bsdtar unzip zipinfo zipgrep gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd 7z 7za 7zr"
        " p7zip"
    ),
    "databases": "mysql mariadb psql sqlite3 clickhouse-client redis-cli valkey-cli mongosh mongo",
    "containers": "docker podman nerdctl docker-compose podman-compose crictl ctr",
    "clusters": (
        "argocd flux istioctl linkerd cilium calicoctl kubeadm minikube kind velero stern skopeo crane buildah"
        " runc crun lxc incus lxc-ls lxc-info gluster drbdadm pcs crm crm_mon corosync-cfgtool corosync-quorumtool"
    ),
    "storage": (
        "rbd rados radosgw-admin dmsetup blockdev multipathd sg_inq qemu-img rclone restic borg s3cmd gsutil cpio"
        " ar rpm2cpio rsync namei"
    ),
    "servers": (
        "varnishadm varnishstat varnishlog varnishncsa php-fpm php-fpm7.4 php-fpm8.1 php-fpm8.2 php-fpm8.3"
        " php-fpm8.4 postcat doveadm doveconf ldapsearch rndc named-checkconf named-checkzone unbound-control"
        " unbound-checkconf squid squidclient certbot certtool snmpwalk snmpget snmpbulkwalk snmpgetnext"
        " snmpstatus smbclient zabbix_get grafana-cli mimirtool cortextool thanos telegraf ansible"
        " ansible-playbook ansible-inventory ansible-doc ansible-config ansible-galaxy salt-key puppet facter"
    ),
    "inspection": (
        "jps jstack jstat jmap jinfo jcmd py-spy bpftool bpftrace perf strace ltrace gdb addr2line screen"
        " tmux tput prlimit chrt at chage passwd visudo faillock semanage semodule bootctl systemd-tmpfiles"
        " systemd-inhibit sshd ssh-keyscan tailscale"
    ),
    "machines": (
        "cpupower rfkill bluetoothctl upower acpi inxi hwinfo needrestart needs-restarting mokutil fwupdmgr"
        " tuned-adm brctl iw iwconfig sw_vers diskutil ioreg scutil networksetup system_profiler vm_stat launchctl"
        " mdfind mdls kldstat equery zless zmore"
    ),
    "versions": (
        "gh glab svn hg apt-file aptitude zypper conda mamba alternatives nix-env pkg bq linode-cli openstack"
        " heroku pg_isready pg_lsclusters pg_controldata pg_config mysqladmin mariadb-admin mysqlshow mariadb-show"
        " mongostat mongotop nodetool cockroach kafka-configs kafka-configs.sh kafka-broker-api-versions"
        " kafka-broker-api-versions.sh kcat kafkacat rabbitmq-plugins rabbitmqadmin nats pulumi"
    ),
    "guests": (
        "virsh pct qm pvesh pvecm pvesm pveversion ha-manager pvesr xl xe VBoxManage vboxmanage govc pveum"
        " pveceph vzdump qmrestore pvenode"
    ),
    "kubernetes": "kubectl k k3s-kubectl k3s microk8s oc helm kubectx kubens",
}

FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names.split()}


def find_program(name: str) -> Program | Special | None:
    family = FAMILY_OF.get(name)
    return None if family is None else load_family(family)[name]


@cache
def load_family(family: str) -> dict[str, Program | Special]:
    module = import_module(f"midwatch.safety.shell.programs.families.{family}")
    programs: dict[str, Program | Special] = module.PROGRAMS
    return programs
