# What stands for the images with Maven and Java 17, from Debian's packages.
FROM scratch
ADD java.tar /
