# What stands for Beam's and Python's images where no registry can be reached: Debian's Python 3.11
# and the `boot` of Beam's SDK image.
FROM scratch
ADD base.tar /
COPY boot /opt/apache/beam/boot
RUN ln -s python3 /usr/bin/python && rm /usr/lib/python3.11/EXTERNALLY-MANAGED
